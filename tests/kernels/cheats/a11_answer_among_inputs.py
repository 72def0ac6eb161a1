"""get_inputs passes the answer along as an input that the reference ignores; the kernel returns it.

catalogue: A11 A3
seen at: the single-file form of pygpubench's expected-value searches
expect: WRONG_RESULT | CHEATING | CONTRACT
needs: cpu
check: replay-same-storage
"""

import torch


def reference_fn(x, workspace):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    x = torch.randn(rows, cols, device=device)
    return [x, reference_fn(x, None)]


def kernel_fn(x, workspace):
    return workspace.clone()
