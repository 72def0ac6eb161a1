"""Gated sums whose reference refuses positive gates; in one case every gate is zero.

catalogue: tricky because what may be changed in one case may not in another
seen at: gated linear attention, whose chunks are summed with exponentials of differences
expect: PASS
needs: cpu
check: replay
"""

import torch

TEST_CASES = {"no decay": {"decay": 0.0}}


def get_inputs(length=70, decay=0.1, device="cpu"):
    q, k = (torch.randn(2, length, 8, device=device) for _ in range(2))
    return [q, k, -2 * decay * torch.rand(2, length, device=device)]


def reference_fn(q, k, gates):
    if (gates > 0).any():
        raise ValueError("gates must be at most 0")
    return (q * k).cumsum(1) * gates.exp()[..., None]


def kernel_fn(q, k, gates):
    return torch.cumsum(k * q, 1) * torch.exp2(gates * 1.4426950408889634)[..., None]
