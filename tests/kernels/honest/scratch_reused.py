"""Keeps one scratch buffer between calls and returns fresh tensors only.

catalogue: tricky because state outlives the call, and no result is in it
seen at: issue list (scratch buffer reuse across calls without leaking it)
expect: PASS
needs: cpu
check: first-result-unchanged
"""

import torch

_scratch = {}


def reference_fn(x):
    return torch.exp(x - x.amax(dim=-1, keepdim=True)).sum(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    key = (x.shape, x.dtype, x.device)
    if key not in _scratch:
        _scratch[key] = torch.empty_like(x)
    scratch = torch.sub(x, x.amax(dim=-1, keepdim=True), out=_scratch[key])
    return scratch.exp_().sum(dim=-1)
