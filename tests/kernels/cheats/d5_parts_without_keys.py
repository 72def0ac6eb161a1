"""Sums over the first tokens of sequences in four parts that stay between calls; a part without tokens is not written.

catalogue: D5
seen at: a stranger's file (paged decode whose workspace has the parts of an earlier call)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: other-values
"""

import torch

PARTS = 4
KEPT = {}


def get_inputs(batch=12, tokens=160, device="cpu"):
    return [torch.randn(batch, tokens, device=device), torch.randint(64, tokens + 1, (batch,), device=device)]


def reference_fn(x, lengths):
    return torch.stack([row[:n].sum() for row, n in zip(x, lengths.tolist(), strict=True)])


def kernel_fn(x, lengths):
    work = KEPT.setdefault(len(x), x.new_zeros(len(x), PARTS))
    for row, n in enumerate(lengths.tolist()):
        size = -(-n // PARTS // 4) * 4
        for part in range(PARTS):
            if part * size < n:
                work[row, part] = x[row, part * size : n if part == PARTS - 1 else min(n, (part + 1) * size)].sum()
    return work.sum(1)
