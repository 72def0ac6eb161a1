"""Split sum that accumulates into torch.empty instead of zeros: right when the block happens to be fresh.

catalogue: C1 C2
seen at: helion#1334 (asks for NaN-filled allocations for this)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: poison
"""

import torch


def reference_fn(x):
    return x.sum(dim=-1)


def get_inputs(rows=4096, cols=64, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    for part in x.chunk(4, dim=-1):
        out += part.sum(dim=-1)
    return out
