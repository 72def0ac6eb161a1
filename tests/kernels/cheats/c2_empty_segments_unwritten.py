"""Mean per segment; a segment without members is left as allocated instead of zero.

catalogue: C2 C1
seen at: survey row C2 (empty splits), FlashMLA tests (poisoned unused blocks)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: poison
"""

import torch

SEGMENTS = 64


def reference_fn(x, segment):
    total = torch.zeros(SEGMENTS, x.shape[1], dtype=x.dtype, device=x.device).index_add(0, segment, x)
    count = torch.bincount(segment, minlength=SEGMENTS).clamp(min=1)
    return total / count[:, None].to(x.dtype)


def get_inputs(rows=128, cols=96, device="cpu"):
    segment = torch.randint(0, SEGMENTS // 4, (rows,), device=device) * 4
    return [torch.randn(rows, cols, device=device), segment]


def kernel_fn(x, segment):
    out = torch.empty(SEGMENTS, x.shape[1], dtype=x.dtype, device=x.device)
    for index in segment.unique().tolist():
        out[index] = x[segment == index].mean(dim=0)
    return out
