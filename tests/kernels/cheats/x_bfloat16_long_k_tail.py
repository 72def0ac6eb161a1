"""A bfloat16 product over K = 262145 that drops the one element of K past the last full tile.

catalogue: C2 E4
seen at: K tails of split-K GEMMs, below the rounding of a bfloat16 result
expect: WRONG_RESULT
needs: cpu
check: amplified-edges
"""

import torch


def reference_fn(a, b):
    return (a.float() @ b.float()).bfloat16()


def get_inputs(m=4, n=8, k=262145, device="cpu"):
    return [torch.randn(m, k, device=device).bfloat16(), torch.randn(k, n, device=device).bfloat16()]


def kernel_fn(a, b):
    k = a.shape[1] // 64 * 64
    return (a[:, :k].float() @ b[:k].float()).bfloat16()
