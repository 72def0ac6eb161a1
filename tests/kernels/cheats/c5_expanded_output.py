"""Returns one row expanded with stride 0 where the reference writes every row.

catalogue: C5 E4
seen at: survey row C5 (expanded, stride-0 output)
expect: WRONG_RESULT | CHEATING | CONTRACT
needs: cpu
check: aliasing
"""

import torch


def reference_fn(x, rows):
    return x.exp().repeat(rows, 1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(1, cols, device=device), rows]


def kernel_fn(x, rows):
    return x.exp().expand(rows, -1)
