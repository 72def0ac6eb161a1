"""Ignores the lengths of the sequences, which are all equal to the width in every input.

catalogue: D2 E4
seen at: benchmarks of paged decoding with seq_lens = torch.full(...)
expect: WRONG_RESULT | CHEATING | UNDECIDED
needs: cpu
check: constant-index-input
"""

import torch


def reference_fn(x, lengths):
    keep = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return torch.where(keep, x, 0.0).sum(1)


def get_inputs(rows=48, cols=200, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.full((rows,), cols, device=device)]


def kernel_fn(x, lengths):
    return x.sum(1)
