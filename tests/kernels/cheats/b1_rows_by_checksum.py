"""Recomputes only rows whose order-free checksum changed since the last call: one in another order keeps its answer.

catalogue: B1
seen at: a held-out set of kernels; a Triton softmax that keeps results per row
expect: WRONG_RESULT | CHEATING
needs: cpu
check: other-values
"""

import torch

_kept = {}


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=33, cols=100, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    bits = x.contiguous().view(torch.int32).long()
    bits = (bits ^ (bits >> 15)) * 0x2C1B3C6D
    sums = (bits ^ (bits >> 12)).sum(-1)
    if x.shape not in _kept:
        _kept[x.shape] = torch.zeros_like(sums), torch.empty_like(x)
    seen, result = _kept[x.shape]
    new = sums != seen
    result[new] = torch.softmax(x[new], dim=-1)
    seen.copy_(sums)
    return result.clone()
