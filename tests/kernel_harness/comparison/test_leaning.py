"""Numbers of eight bits that are off to one side."""

import pytest
import torch
from kernel_harness.comparison.compare import Expected, compare

pytestmark = pytest.mark.cpu
FORMATS = [torch.float8_e4m3fn, torch.float8_e5m2]
ROWS = 64  # of 256, the last eight of which are written


def judged(change, dtype, rounded=lambda x: x):
    """Of a cache of which the last rows are written with change(x) in place of x."""
    torch.manual_seed(0)
    wide = 16 * torch.randn(ROWS, 256, dtype=torch.float64)
    before = wide.to(dtype)
    wide[-8:] = 16 * torch.randn(8, 256, dtype=torch.float64)
    native, golden, result = (before.clone() for _ in range(3))
    native[-8:] = rounded(wide[-8:].float()).to(dtype)
    golden[-8:] = wide[-8:].to(dtype)
    result[-8:] = change(wide[-8:].float()).to(dtype)
    return compare("", result, Expected(native, golden, golden))


@pytest.mark.parametrize("factor", [1.06, 1.03, 0.97])
@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_a_scale_that_is_a_few_per_cent_off_is_wrong(dtype, factor):
    outcome = judged(lambda x: x * factor, dtype)

    assert not outcome.passed
    assert "a scale" in outcome.causes[0]
    assert "from 56 on" in outcome.where


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_rounding_towards_zero_is_wrong(dtype):
    steps = torch.finfo(dtype).eps / 2

    assert not judged(lambda x: x - x.sign() * torch.exp2(x.abs().log2().floor()) * steps, dtype).passed


@pytest.mark.parametrize("change", [
    lambda x: x,
    lambda x: x.bfloat16().float(),  # rounded twice
    lambda x: x * (1 + 2.0**-9),  # a scale in bfloat16
    lambda x: x + 2.0**-8 * x.abs().mean() * torch.randn_like(x),  # the noise of a sum in bfloat16
], ids=("exact", "twice", "scale", "noisy"))  # fmt: skip
@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_what_is_rounded_otherwise_is_right(change, dtype):
    assert judged(change, dtype).passed


def test_the_reference_may_lean_as_well():
    lean = lambda x: x * 1.02

    assert judged(lean, torch.float8_e4m3fn, rounded=lean).passed
