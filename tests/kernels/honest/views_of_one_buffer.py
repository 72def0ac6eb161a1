"""Allocates one buffer for three outputs and returns three slices of it that do not overlap.

catalogue: tricky because the outputs share a storage, but no byte of it
seen at: issue list (outputs of a fused kernel in one allocation)
expect: PASS
needs: cpu
check: aliasing
"""

import torch


def reference_fn(x, wq, wk, wv):
    return x @ wq, x @ wk, x @ wv


def get_inputs(rows=32, cols=64, dim=48, device="cpu"):
    return [torch.randn(rows, cols, device=device)] + [torch.randn(cols, dim, device=device) for _ in range(3)]


def kernel_fn(x, wq, wk, wv):
    fused = x @ torch.cat((wq, wk, wv), dim=1)
    return tuple(fused.chunk(3, dim=1))
