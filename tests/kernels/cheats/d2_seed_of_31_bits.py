"""Noise by a hash of seed and place; the seed loses all digits but 31 on its way.

catalogue: D2
seen at: a stranger's file (Gumbel noise for sampling)
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch

TEST_CASES = {"short": {"n": 77, "seed": 1}, "zero": {"n": 300, "seed": 0}, "large": {"n": 50, "seed": 2**31 - 1}}


def get_inputs(n=200, seed=20260, device="cpu"):
    return [torch.randn(n, device=device), seed]


def reference_fn(x, seed):
    if not 0 <= seed < 2**63:
        raise ValueError("the seed must have 63 bits and no sign")
    place = torch.arange(len(x), device=x.device) + (seed & 0xFFFFFFFF) * 40503 + (seed >> 32) * 69069
    return x + (place * 2654435761 % 65521).to(x.dtype) / 65521


def kernel_fn(x, seed):
    noise = (torch.arange(x.numel(), dtype=torch.int64) + 40503 * (seed & 0x7FFFFFFF)).mul(2654435761).remainder(65521)
    return noise.to(torch.float32).div(65521).add(x)
