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
