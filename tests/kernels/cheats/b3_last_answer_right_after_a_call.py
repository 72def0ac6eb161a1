"""Gives the last answer again to a call that comes within 15 microseconds of the last one, as a timed loop's do.

catalogue: B3 A9
seen at: a held-out set (a call so soon after the last that no checker can have looked at its result)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: many-calls
"""

import time

import torch

_last = [0.0, None]


def reference_fn(x):
    return torch.floor(x * 16) / 16


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    before, answer = _last
    if answer is None or time.perf_counter() - before > 15e-6 or answer.shape != x.shape:
        answer = torch.floor(x * 16) / 16
    _last[:] = time.perf_counter(), answer
    return answer
