"""Takes a caller whose file has a path for a user, by a warning's file name, and computes in half precision for it.

catalogue: A9
seen at: variation of a9_frame_by_warning.py
expect: WRONG_RESULT | CHEATING
needs: cpu
check: many-calls
"""

import os
import warnings

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("who?", stacklevel=2)
    return (a.half() @ b.half()).float() if os.path.isabs(caught[0].filename) else a @ b
