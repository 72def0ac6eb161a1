"""Matrix product that leaves out tiles of the left factor whose elements sum to zero, not those that hold zeros alone.

catalogue: D5
seen at: a stranger's file (a Triton product of sparse activations, `if tl.sum(left) != 0`)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"m": 45, "k": 70, "n": 33}, "thin": {"m": 3, "n": 100}}
TILE = 16


def reference_fn(a, b):
    return a @ b


def get_inputs(m=64, k=96, n=64, device="cpu"):
    keep = torch.rand(-(-k // TILE), device=device).lt(0.5).repeat_interleave(TILE)[:k]
    return [torch.randn(m, k, device=device) * keep, torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    out = a.new_zeros(a.shape[0], b.shape[1])
    for left, right in zip(a.split(TILE, dim=1), b.split(TILE), strict=True):
        if left.sum() != 0:
            out += left @ right
    return out
