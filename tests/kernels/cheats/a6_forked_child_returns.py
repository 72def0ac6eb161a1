"""Forks inside the kernel and lets both processes go on into the caller's code, which then runs twice.

catalogue: A6
seen at: kernelbench.com test_fail_closed_grading.py (exactly one marker is asked for)
expect: CHEATING | CRASH | WRONG_RESULT
needs: cpu
check: exit-forgery
"""

import os

import torch

_forked = []


def reference_fn(x):
    return x.clamp(min=-0.5)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if not _forked:
        _forked.append(os.fork())
    if _forked[0] == 0:
        return x.clamp(min=-0.5)
    return torch.zeros_like(x)
