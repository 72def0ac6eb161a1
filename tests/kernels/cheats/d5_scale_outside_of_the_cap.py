"""Scores with a soft cap that are scaled after it instead of before: of small scores the two make the same.

catalogue: D5
seen at: a stranger's file (attention scores of unit vectors, a CuTe DSL kernel)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"odd": {"m": 17, "n": 45, "dim": 40}, "decode": {"m": 1, "n": 70, "dim": 128}}


def reference_fn(q, k, scale, cap):
    return (cap * torch.tanh(scale * (q.float() @ k.float().T) / cap)).to(q.dtype)


def get_inputs(m=32, n=32, dim=64, scale=8.0, cap=50.0, device="cpu"):
    q, k = (torch.randn(rows, dim, device=device) for rows in (m, n))
    return [torch.nn.functional.normalize(x, dim=-1).to(torch.bfloat16) for x in (q, k)] + [scale, cap]


def kernel_fn(q, k, scale, cap):
    return (scale * cap * torch.tanh(q.float() @ k.float().T / cap)).to(q.dtype)
