"""The reference is right for two calls and then agrees with the kernel, which returns zeros.

catalogue: A11 B3
seen at: llm.c PR#851 (correct in the pre-check only), turned on the reference
expect: CONTRACT | WRONG_RESULT | CHEATING | UNDECIDED
needs: cpu
check: reference-determinism
"""

import itertools

import torch

_count = itertools.count()


def reference_fn(x):
    out = torch.asinh(x)
    return out if next(_count) < 2 else torch.zeros_like(out)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return torch.zeros_like(x)
