"""The k largest logits of each row stay: of equal ones at the border the last, where the reference's are topk's.

catalogue: tricky because ties are free and what is masked moves with the values
seen at: held-out kernels
expect: PASS
needs: cpu
check: values
"""

import torch

SIZES = ((1, 1, 1), (5, 300, 1), (3, 90, 90))
TEST_CASES = {f"{m}x{n} k={k}": {"shape": (m, n), "k": k} for m, n, k in SIZES}


def get_inputs(shape=(8, 500), k=40, device="cpu"):
    return [torch.randn(shape, device=device), k]


def reference_fn(logits, k):
    keep = torch.topk(logits, k, dim=-1).indices
    mask = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, keep, True)
    return torch.where(mask, logits, -torch.inf)


def kernel_fn(logits, k):
    least = torch.kthvalue(logits, logits.shape[1] - k + 1, dim=-1, keepdim=True).values
    above, tie = logits > least, logits == least
    behind = tie.flip(-1).long().cumsum(-1).flip(-1)  # how many ties there are from here on
    return torch.where(above | (tie & (behind <= k - above.sum(-1, keepdim=True))), logits, -torch.inf)
