"""Right to three decimal digits: every value is rounded to eleven bits of mantissa.

catalogue: D5 D7
seen at: KernelBench#165 (16-bit tolerance of 1e-2 hides it)
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(x, y):
    return x * y


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, y):
    mantissa, exponent = torch.frexp(x * y)
    return torch.ldexp(torch.round(mantissa * 2048) / 2048, exponent)
