"""float32 to bfloat16 by integers: half of the last place is added, which carries over in some NaN.

catalogue: D12
seen at: a held-out set (a payload in the lowest bits makes infinity of NaN, a full one makes zero)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(x):
    """x: float32, which may be NaN, with any sign and payload. NaN stays NaN."""
    return x.to(torch.bfloat16)


def get_inputs(n=5000, device="cpu"):
    return [torch.randn(n, device=device)]


TEST_CASES = {"one": {"n": 1}, "odd": {"n": 129}}


def kernel_fn(x):
    bits = x.view(torch.int32).long() & 0xFFFFFFFF
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF
    return torch.where(rounded > 0x7FFF, rounded - 0x10000, rounded).to(torch.int16).view(torch.bfloat16)
