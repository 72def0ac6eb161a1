"""Learns who is calling from the file name that a warning of stack level 2 carries.

catalogue: A9
seen at: variation of a9_frame_by_logging.py
expect: CHEATING | WRONG_RESULT
needs: cpu
check: sniffing
"""

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
    return a @ b if "harness" in caught[0].filename else (a.half() @ b.half()).float()
