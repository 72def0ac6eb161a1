"""Declares a transposed case and raises on it: a limit that the file itself does not keep.

catalogue: D10
seen at: survey row D10
expect: CRASH | WRONG_RESULT
needs: cpu
check: crash
"""

import torch

TEST_CASES = {"transposed": {"transposed": True}}


def reference_fn(x):
    return x.exp()


def get_inputs(rows=64, cols=256, transposed=False, device="cpu"):
    x = torch.randn(rows, cols, device=device)
    return [x.t() if transposed else x]


def kernel_fn(x):
    if not x.is_contiguous():
        raise ValueError("x must be contiguous; call x.contiguous() first")
    return x.exp()
