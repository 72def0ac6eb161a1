"""Numbers on which a reference rounds nowhere but where it means to."""

import pytest
import torch
from kernel_harness import values
from kernel_harness.comparison.roundings import Exactness
from kernel_harness.inputs import ties

pytestmark = pytest.mark.cpu
TORCH = torch.Generator().manual_seed(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("scale", [2.0**-5, 1.0, 2.0])
def test_many_lie_on_ties_whatever_power_of_two_scales_them(dtype, scale):
    x = ties.dyadic(torch.randn(4096, generator=TORCH).to(dtype) * 4, TORCH).double() / scale

    assert int(((x - x.floor()) == 0.5).sum()) > 200


def test_scales_and_numbers_become_powers_of_two(tmp_path):
    assert torch.equal(ties.dyadic(torch.tensor([0.3, 5.0]), TORCH), torch.tensor([0.25, 4.0]))
    bundle = ties.dyadic_numbers(values.save([torch.ones(2), 0.05, 3], tmp_path / "inputs"))
    assert [node["value"] for node in bundle.tree["items"][1:]] == [0.0625, 3]


def test_exactness_sees_a_division_by_three_and_a_halved_eighth():
    x = torch.arange(64, dtype=torch.float64) / 8
    for step, exact in ((lambda: (x / 0.0625).round(), True), (lambda: x / 3, False)):
        with Exactness() as mode:
            step()
        assert mode.is_exact == exact


@pytest.mark.parametrize(("scale", "exact"), [(0.0625, True), (63 / 127, False)])
def test_exactness_follows_a_reference_that_names_float32(scale, exact):
    """The steps behind such a cast round in float32: a quantiser by a reciprocal may take the other side of a tie."""
    x = torch.arange(64, dtype=torch.float64) / 8
    with Exactness() as mode:
        (x.float() / scale).round().to(torch.int8)

    assert mode.is_exact == exact


def test_exactness_is_denied_where_a_narrow_format_rounds():
    x = torch.arange(64, dtype=torch.float64) / 8
    with Exactness() as mode:
        x.bfloat16() / 3

    assert not mode.is_exact


def test_a_nudge_moves_values_that_no_format_of_sixteen_bits_tells_apart():
    x = torch.randn(4096, generator=TORCH)
    y = ties.nudge(x, TORCH)

    assert int((x != y).sum()) > 3900
    assert torch.equal(x.half(), y.half())
    assert torch.equal(x.bfloat16(), y.bfloat16())
    assert ties.nudge(x.half(), TORCH) is None


def test_a_nudge_does_not_end_on_a_tie_of_bfloat16():
    """Half of one last digit is rounded to an even one, and the tie to the other side."""
    x = torch.tensor([float.fromhex("0x1.3efffe0000000p-1"), 1.0001])

    y = ties.nudge(x, TORCH)

    assert torch.equal(y.bfloat16(), x.bfloat16())
    assert not torch.equal(y, x)


def test_data_meet_the_numbers_beside_them(tmp_path):
    x = torch.randn(400, generator=TORCH)
    meet = ties.meeting(values.save([x, -2.0, 0.5, 1e-6, 7], tmp_path / "inputs"))

    for number, many in ((-2.0, True), (0.5, True), (1e-6, False), (7.0, False)):
        assert (int((meet(x, TORCH) == number).sum()) > 20) == many
    assert meet(x[:8], TORCH) is None


def test_data_meet_the_steps_beside_them():
    steps, x = torch.tensor([-0.5, 0.25, 0.75, 9.0]), torch.randn(4096, generator=TORCH)
    assert ties.are_steps(steps)
    assert not any(map(ties.are_steps, (steps.flip(0), torch.ones(3), steps[:1], steps.long())))

    new = ties.at_the_steps_of(steps)(x, TORCH)

    moved = new[new != x]
    assert set(moved.tolist()) == {-0.5, 0.25, 0.75}, "nine lies outside the data"
    assert 300 < len(moved) < 1100
    assert torch.equal(new[x < -0.5], x[x < -0.5])
    assert ties.at_the_steps_of(steps)(x.double(), TORCH) is None
