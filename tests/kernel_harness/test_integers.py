"""Integers that get_inputs does not draw, and which wrong results on them say that a kernel is wrong."""

import ast

import pytest
import torch
from kernel_harness import integers

pytestmark = pytest.mark.cpu
TORCH = torch.Generator().manual_seed(0)
DATA = torch.randint(0, 1000, (40, 50), generator=TORCH)
UNTOUCHED = {
    "mask": DATA > 500,
    "labels": DATA % 10,
    "positions": torch.arange(2000).view(1, -1),
    "lengths": torch.tensor([3, 200, 50]),
    "step": torch.tensor(700),
}


@pytest.mark.parametrize("name", UNTOUCHED)
@pytest.mark.parametrize("change", [integers.both_signs, integers.middle_width, integers.whole_width], ids=str)
def test_what_is_no_data_stays(name, change):
    assert change(UNTOUCHED[name], TORCH) is None


def test_data_get_both_signs():
    x = integers.both_signs(DATA, TORCH)

    assert torch.equal(x.abs(), DATA)
    assert 0 < int((x < 0).sum()) < x.numel()


def test_sums_of_wide_integers_pass_32_bits_and_products_of_middle_ones_24():
    assert int(integers.whole_width(DATA, TORCH).sum(1).min()) > 2**31
    middle = integers.middle_width(DATA.int(), TORCH)
    assert 2**24 < int((middle * middle).max()) < 2**31


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16], ids=str)
def test_narrow_integers_fill_their_type(dtype):
    x = integers.whole_width((DATA % 100).to(dtype), TORCH)

    info = torch.iinfo(dtype)
    assert int(x.max()) > 0.95 * info.max
    assert int(x.min()) <= 0.95 * info.min


def test_each_row_of_a_mask_gets_one_true_but_for_prefixes():
    assert bool((integers.one_each(DATA > 500, TORCH).sum(1) == 1).all())
    assert integers.one_each(torch.arange(50) < DATA[:, :1] % 50, TORCH) is None


def test_slips_of_arithmetic_are_told_from_memory_of_others():
    x = integers.both_signs(DATA, TORCH)
    floor = torch.div(x, 16, rounding_mode="floor")
    wide = DATA * 2**24

    assert integers.is_slip(torch.div(x, 16, rounding_mode="trunc"), floor)
    assert integers.is_slip((x & 0xFFFFFFFF) >> 3, x >> 3)
    assert integers.is_slip(wide.sum(1).int(), wide.sum(1))
    assert integers.is_slip((DATA * 30011).float().to(torch.int32), (DATA * 30011).to(torch.int32) + 1)
    assert not integers.is_slip(torch.randint(0, 2**31, DATA.shape, generator=TORCH), DATA)


def test_what_the_reference_compares_with_or_ignores_is_special():
    source = """
PAD = -7
def reference_fn(x, labels):
    kept = labels != PAD
    return F.cross_entropy(x.sum(-1), labels, ignore_index=-3)
def kernel_fn(x, labels):
    return labels == -9
"""
    assert set(integers.special_values(ast.parse(source))) == {-7, -3}
