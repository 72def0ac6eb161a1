"""A mean of embeddings counts the padding, whose index is an argument that random indices seldom meet.

catalogue: D2
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"odd": {"rows": 5, "n": 3}}


def get_inputs(rows=6, n=7, words=5000):
    return [torch.randint(0, words, (rows, n)), torch.randn(words, 24), 3]


def reference_fn(index, table, padding):
    kept = (index != padding)[..., None]
    return (table[index] * kept).sum(1) / kept.sum(1).clamp(min=1)


def kernel_fn(index, table, padding):
    return (table[index] * (index != padding)[..., None]).sum(1) / index.shape[1]
