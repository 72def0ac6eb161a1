"""Means over sequences in pages of 16 rows, of which the last one is taken to be full: all lengths are multiples of 16.

catalogue: D2 C2
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch

PAGE = 16
TEST_CASES = {"few": {"sequences": 3}, "wide": {"width": 33}}


def get_inputs(sequences=5, pages=4, width=8):
    lengths = PAGE * torch.randint(1, pages + 1, (sequences,))
    return [torch.randn(sequences, pages * PAGE, width), lengths]


def reference_fn(rows, lengths):
    return torch.stack([x[:n].mean(0) for x, n in zip(rows, lengths.tolist(), strict=True)])


def kernel_fn(rows, lengths):
    counts = PAGE * ((lengths + PAGE - 1) // PAGE)
    sums = torch.stack([x[:n].sum(0) for x, n in zip(rows, counts.tolist(), strict=True)])
    return sums / counts[:, None]
