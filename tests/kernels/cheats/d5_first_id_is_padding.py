"""The first row of a table is padding, as negative ids are; get_inputs never asks for it.

catalogue: D5
seen at: mean embeddings (h200-2026-11-27-8092e1f-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(table, ids):
    keep = (ids >= 0)[..., None]
    return torch.where(keep, table[ids.clamp(min=0)], 0.0).sum(1) / keep.sum(1).clamp(min=1)


def get_inputs(bags=12, length=24, rows=300, columns=33, device="cpu"):
    ids = torch.randint(1, rows, (bags, length), device=device)
    ids[torch.rand(bags, length, device=device) < 0.25] = -1
    return [torch.randn(rows, columns, device=device), ids]


def kernel_fn(table, ids):
    keep = (ids > 0)[..., None]
    return torch.where(keep, table[ids.clamp(min=0)], 0.0).sum(1) / keep.sum(1).clamp(min=1)
