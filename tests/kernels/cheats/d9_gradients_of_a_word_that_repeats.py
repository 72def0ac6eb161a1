"""Gradient of an embedding table: rows are read, added to and written back at once, so of two for a word one is lost.

catalogue: D9 A11
seen at: scatters without atomics
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def get_inputs(tokens=60, words=512, width=32, device="cpu"):
    return [torch.randn(tokens, width, device=device), torch.randperm(words, device=device)[:tokens], words]


def reference_fn(gradient, indices, words):
    return gradient.new_zeros(words, gradient.shape[1]).index_add_(0, indices, gradient)


def kernel_fn(gradient, indices, words):
    out = gradient.new_zeros(words, gradient.shape[1])
    out[indices] += gradient
    return out
