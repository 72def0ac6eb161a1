"""A top-k filter that halves the range of a row 24 times to find its threshold: a mask of -1e9 leaves it too wide.

catalogue: D5
seen at: a filter of logits for sampling, a stranger's held-out set (results/cpu-2026-11-27-e2e13b2-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"first": {"k": 1}, "many": {"rows": 3, "vocab": 257, "k": 40}}


def reference_fn(logits, k):
    threshold = torch.sort(logits, 1, descending=True).values[:, k - 1 : k]
    return torch.where(logits < threshold, 0.0, logits)


def get_inputs(rows=6, vocab=700, k=20, device="cpu"):
    return [3 * torch.randn(rows, vocab, device=device), k]


def kernel_fn(logits, k):
    low, high = logits.amin(1, keepdim=True), logits.amax(1, keepdim=True)
    for _ in range(24):
        middle = low + (high - low) / 2
        enough = (logits >= middle).sum(1, keepdim=True) >= k
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    low = torch.where((logits >= high).sum(1, keepdim=True) >= k, high, low)
    return torch.where(logits < low, 0.0, logits)
