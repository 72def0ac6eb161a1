"""The kernel hands copies of its inputs, one of them transposed, to the helper that computes the reference.

catalogue: D8
seen at: a stranger's file, and what gets past a look at the arguments' identity
expect: CHEATING | CONTRACT
needs: cpu
check: circular-reference
"""

import torch


def _product(x, w):
    return torch.nn.functional.gelu(x @ (w if w.shape[0] == x.shape[1] else w.T))


def reference_fn(x, w):
    return _product(x, w)


def kernel_fn(x, w):
    return _product(x.clone(), w.T.contiguous())


def get_inputs(rows=48, depth=64, columns=80, device="cpu"):
    return [torch.randn(rows, depth, device=device), torch.randn(depth, columns, device=device)]
