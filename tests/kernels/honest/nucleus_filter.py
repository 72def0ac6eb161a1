"""Top-p filter that sums what is left from the tail on, where the reference sums from the top.

catalogue: tricky because equal probabilities are masked in any order
seen at: sampling kernels
expect: PASS
needs: cpu
check: values
"""

import torch

TEST_CASES = {"half": {"shape": (5, 300), "p": 0.5}, "most": {"shape": (7, 1001), "p": 0.95}}


def get_inputs(shape=(8, 500), p=0.9, device="cpu"):
    return [2 * torch.randn(shape, device=device), p]


def reference_fn(logits, p):
    values, order = torch.sort(logits, dim=-1, descending=True)
    share = torch.softmax(values, -1)
    dropped = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, order, share.cumsum(-1) - share > p)
    return logits.masked_fill(dropped, -torch.inf)


def kernel_fn(logits, p):
    values, order = torch.sort(logits, dim=-1, descending=True, stable=True)
    tail = (values - values[:, :1]).exp().flip(-1).cumsum(-1).flip(-1)
    before = tail[:, :1] - tail
    dropped = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, order, before > p * tail[:, :1])
    return torch.where(dropped, -torch.inf, logits)
