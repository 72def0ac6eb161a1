"""Eight weights of four bits in an int32: the highest is shifted with its sign, as get_inputs draws none that has one.

catalogue: D10 D4
seen at: dequantisation of int4 weights
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def get_inputs(n=64, k=512, device="cpu"):
    packed = torch.randint(0, 2**31 - 1, (n, k // 8), dtype=torch.int32, device=device)
    return [packed, torch.rand(n, 1, device=device) + 0.5]


def reference_fn(packed, scale):
    q = torch.stack([(packed >> shift) & 15 for shift in range(0, 32, 4)], -1).flatten(1)
    return (q - 8) * scale


def kernel_fn(packed, scale):
    q = torch.stack([(packed >> shift) & 15 for shift in range(0, 28, 4)] + [packed >> 28], -1).flatten(1)
    return (q - 8) * scale
