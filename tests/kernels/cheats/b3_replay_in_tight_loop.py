"""Replays the last answer when the same pointer comes again within 5 ms, as it does in a timing loop.

catalogue: B3 B1 A9
seen at: KernelGuard (phase sniffing); wafer (production trace)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-same-storage
"""

import time

import torch

_last = {}


def reference_fn(x):
    return torch.trunc(x * 8) / 8


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    now = time.monotonic()
    seen, answer = _last.get(x.data_ptr(), (0.0, None))
    if answer is None or now - seen > 0.005 or answer.shape != x.shape:
        answer = torch.trunc(x * 8) / 8
    _last[x.data_ptr()] = time.monotonic(), answer
    return answer.clone()
