"""Row means whose divisor is the width rounded up to 8: 2001 becomes 2008.

catalogue: C2 D10
seen at: normalisations that divide by the tile's width
expect: WRONG_RESULT
needs: cpu
check: values
known miss: a bias of a sixth of a percent is below the rounding of bfloat16
"""

import torch


def reference_fn(x):
    return (x.float().square().mean(1) + 1e-6).rsqrt().to(x.dtype)


def get_inputs(rows=64, cols=2001, device="cpu"):
    return [torch.randn(rows, cols, device=device).to(torch.bfloat16)]


def kernel_fn(x):
    padded = -(-x.shape[1] // 8) * 8
    return (x.float().square().sum(1) / padded + 1e-6).rsqrt().to(x.dtype)
