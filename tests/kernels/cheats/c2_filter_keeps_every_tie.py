"""The k largest logits of each row stay: of equal ones at the border all do, more than k, where the reference keeps k.

catalogue: C2 D4
seen at: top-k filters by a threshold
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

SIZES = ((1, 1, 1), (5, 300, 1), (3, 90, 90))
TEST_CASES = {f"{m}x{n} k={k}": {"shape": (m, n), "k": k} for m, n, k in SIZES}


def get_inputs(shape=(8, 500), k=40, device="cpu"):
    return [torch.randn(shape, device=device), k]


def reference_fn(logits, k):
    keep = torch.sort(logits, dim=-1, descending=True, stable=True).indices[:, :k]
    mask = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, keep, True)
    return torch.where(mask, logits, -torch.inf)


def kernel_fn(logits, k):
    least = torch.topk(logits, k, dim=-1).values[:, -1:]
    return torch.where(logits >= least, logits, -torch.inf)
