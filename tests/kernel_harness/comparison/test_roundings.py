"""Monte Carlo arithmetic: what cancels inside moves far, what selects and copies does not move."""

import pytest
import torch
from kernel_harness import values
from kernel_harness.comparison.roundings import PinnedRoundings, Roundings
from kernel_harness.roles import oracle

pytestmark = pytest.mark.cpu
UNIT = 2.0**-24


def moved(function, *inputs) -> float:
    """How far the result moves at most, in roundings."""
    exact = function(*inputs)
    with Roundings(UNIT):
        return float((function(*inputs) - exact).abs().max() / UNIT)


def silu_gradient(x):
    with torch.enable_grad():
        leaf = x.detach().requires_grad_(True)
        (gradient,) = torch.autograd.grad(torch.nn.functional.silu(leaf).sum(), leaf)
    return gradient


def test_a_cancellation_inside_a_fused_operator_is_seen():
    x = torch.linspace(80, 100, 64, dtype=torch.float64)

    assert moved(silu_gradient, x) > 20  # 1 - sigmoid(x) times x
    assert moved(torch.nn.functional.silu, x) < 400  # the result is 100: a few roundings of it


@pytest.mark.parametrize("function", [
    torch.relu, lambda x: x.amax(0), lambda x: torch.sort(x).values, lambda x: (x == x.max()).double(),
    lambda x: torch.cat([x, x]), lambda x: x.T.contiguous()])
def test_what_is_exact_stays_exact(function):
    assert moved(function, torch.randn(33, 7, dtype=torch.float64)) == 0


def test_sums_move_by_their_own_rounding_and_integers_not_at_all():
    x = torch.ones(100, dtype=torch.float64)

    assert 0 < moved(torch.sum, x) <= 100
    assert moved(lambda n: n.sum().double(), torch.arange(100)) == 0


def test_results_in_place_move_too():
    def accumulate(x):
        total = torch.zeros_like(x)
        for _ in range(8):
            total += x
        return total

    assert moved(accumulate, torch.ones(64, dtype=torch.float64)) > 1


def test_only_what_names_float32_moves_in_a_float64_run():
    x = torch.linspace(1, 2, 64, dtype=torch.float64)
    with PinnedRoundings(UNIT) as mode:
        exact = x.sin()
        assert torch.equal(exact, x.sin())
        assert not mode.moved
        table = x.float().sin()
        assert mode.moved
    assert 0 < float((table - x.float().sin()).abs().max()) <= 2 * UNIT


def test_of_the_draws_the_farthest_answer_of_an_integer_is_kept():
    exact, near, far = (torch.tensor([x, -x]) for x in (10, 11, 13))

    for a, b in ((near, far), (far, near)):
        assert oracle._farthest(a, b, exact).tolist() == far.tolist()


@pytest.mark.parametrize("ties", [True, False])
def test_equal_inputs_move_alike_where_that_is_asked_for(ties, tmp_path):
    x = torch.randn(400).repeat(3)
    source = values.Mapping(values.save([x], tmp_path / "inputs"), writable=False)
    (moved,) = oracle._materialise(source, widen=True, move=2.0**-24, ties=ties)

    assert bool(((moved - x).abs() <= 2.0**-24 * x.double().abs()).all())
    assert torch.equal(moved[:400], moved[400:800]) == ties
    assert ((moved[:400] / x[:400].double() - 1) * 2**24).unique().numel() > 390
    (again,) = oracle._materialise(source, widen=True, move=2.0**-24, ties=ties)
    assert not torch.equal(moved, again)
