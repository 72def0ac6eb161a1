"""Reads the memory of a complex tensor, and not the conjugation that a view of it is to have.

catalogue: D2
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def get_inputs(n=500, matched=False):
    x, w = torch.randn(2, n, 2).unbind(0)
    w = torch.view_as_complex(w)
    return [torch.view_as_complex(x), w.conj() if matched else w]


TEST_CASES = {"matched": {"matched": True}}


def reference_fn(x, w):
    return x * w


def kernel_fn(x, w):
    raw = w.conj() if w.is_conj() else w  # as a pointer sees it
    return x * raw
