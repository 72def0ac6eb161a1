"""Subnormal numbers of eight bits that become zero."""

import pytest
import torch
from kernel_harness.comparison.compare import Expected, compare

pytestmark = pytest.mark.cpu
FORMATS = [torch.float8_e4m3fn, torch.float8_e5m2]


def judged(change, dtype):
    torch.manual_seed(0)
    smallest = torch.finfo(dtype).smallest_normal
    sizes = smallest / 8 * torch.exp2(torch.randint(0, 14, (64, 512)).double())
    wide = sizes * torch.randn(64, 512, dtype=torch.float64)
    wide = wide.clamp(-torch.finfo(dtype).max, torch.finfo(dtype).max)
    native = wide.float().to(dtype)
    result = change(wide, smallest).float().to(dtype)
    return compare("", result, Expected(native, native.double(), native.double()))


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_zeros_in_place_of_subnormal_numbers_are_wrong(dtype):
    outcome = judged(lambda x, smallest: torch.where(x.abs() < smallest, 0.0, x), dtype)

    assert not outcome.passed
    assert "subnormal" in outcome.causes[0]


@pytest.mark.parametrize("change", [
    lambda x, smallest: x,
    lambda x, smallest: x * (1 + 2.0**-9),  # other roundings
    lambda x, smallest: x + 2 * smallest * torch.randn_like(x),  # the noise of a sum in bfloat16
], ids=("exact", "rounded", "noisy"))  # fmt: skip
@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_what_is_rounded_otherwise_is_right(change, dtype):
    assert judged(change, dtype).passed
