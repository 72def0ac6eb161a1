"""Rows that are alike, slices that are not, and columns that lie together."""

import pytest
import torch
from kernel_harness.inputs import alike

pytestmark = pytest.mark.cpu
CHANCE = torch.Generator()


@pytest.mark.parametrize("shape", [(16, 8), (4, 5, 8)])
def test_all_rows_are_as_the_first(shape):
    x = torch.randn(shape)

    changed = alike.rows(x, CHANCE)

    assert changed.shape == x.shape
    assert torch.equal(changed.reshape(-1, 8), x.reshape(-1, 8)[:1].repeat(x.numel() // 8, 1))


@pytest.mark.parametrize("x", [torch.randn(100), torch.randn(4, 4), torch.arange(100.0).view(2, 50),
                               torch.randn(16, 8).to(torch.float8_e4m3fn)])  # fmt: skip
def test_parameters_codes_and_what_is_sorted_stay(x):
    assert alike.rows(x, CHANCE) is None


def test_slices_of_an_expanded_tensor_come_apart():
    x = torch.randn(1, 5, 6).expand(3, -1, -1)

    apart = alike.apart(x, seed=1)

    assert alike.is_expanded(x)
    assert not alike.is_expanded(apart)
    assert apart.is_contiguous()
    assert not torch.equal(apart[0], apart[1])
    assert bool((apart / x).sub(1).abs().le(1 / 3 + 1e-6).all())


def test_columns_lie_together():
    x = torch.randn(2, 5, 6)

    turned = alike.turned(x)

    assert torch.equal(turned, x)
    assert turned.stride() == (30, 1, 5)
    assert all(alike.turned(y) is y for y in (torch.randn(6), torch.randn(1, 6), torch.randn(6, 1)))
