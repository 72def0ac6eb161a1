"""Masks that get_inputs does not make."""

import pytest
import torch
from kernel_harness.inputs import masks

pytestmark = pytest.mark.cpu
TORCH = torch.Generator().manual_seed(0)
MASK = torch.rand(50, 40, generator=TORCH) < 0.5


def test_rows_begin_with_false_and_have_a_true():
    new = masks.led_by_false(MASK, TORCH)

    assert not bool(new[:, :35].any())
    assert bool(new.any(-1).all())
    assert torch.equal(new[:, 35:-1], MASK[:, 35:-1])


@pytest.mark.parametrize("mask", [
    torch.arange(40) < torch.randint(1, 40, (50, 1), generator=TORCH),
    torch.nn.functional.one_hot(torch.randint(40, (50,), generator=TORCH), 40).bool(),
    MASK[:, :8],
    MASK.float(),
], ids=["lengths", "as many in each", "short", "no mask"])  # fmt: skip
def test_masks_that_have_a_rule_stay(mask):
    assert masks.led_by_false(mask, TORCH) is None


def _components(mask):
    """How many there are, and the longest way in one of them from its first pixel."""
    free, count, longest = {(i, j) for i, j in mask.nonzero().tolist()}, 0, 0
    while free:
        front, count, way = {min(free)}, count + 1, 0
        while front:
            free -= front
            front = {p for a, b in front for p in ((a, b - 1), (a, b + 1), (a - 1, b), (a + 1, b))} & free
            way += 1
        longest = max(longest, way)
    return count, longest


@pytest.mark.parametrize("shape", [(16, 24), (24, 16), (9, 40), (8, 8), (1, 9, 12)])
def test_pictures_become_one_long_line(shape):
    x = torch.rand(shape, generator=TORCH) < 0.5
    for change, least in ((masks.winding, x.numel() // 3), (masks.staircase, 3 * max(shape) // 2)):
        count, longest = _components(change(x, TORCH).reshape(x.shape[-2:]))
        assert count == 1
        assert longest >= least


def test_ones_and_zeros_are_pictures_too():
    x = (torch.rand(12, 20, generator=TORCH) < 0.5).to(torch.uint8)

    assert set(masks.winding(x, TORCH).unique().tolist()) == {0, 1}


def test_what_relates_a_thing_to_itself_is_no_picture():
    x = torch.rand(16, 16, generator=TORCH) < 0.5
    lengths = torch.arange(20) < torch.arange(1, 17)[:, None]

    for relation in (x | x.mT, x.tril(), x | torch.eye(16, dtype=torch.bool), lengths, x.to(torch.float32)):
        assert masks.winding(relation, TORCH) is masks.staircase(relation, TORCH) is None
