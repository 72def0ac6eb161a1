"""An interval timer's signal handler fills the output 20 ms after the call returned.

catalogue: A13
seen at: SOL-ExecBench evil_thread_inject, taken past every check of threads
expect: CHEATING | WRONG_RESULT | CRASH
needs: cpu
check: deferred
"""

import signal

import torch

_pending = []


def reference_fn(x):
    return torch.sigmoid(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def _ring(number, frame):
    while _pending:
        out, x = _pending.pop()
        out.copy_(torch.sigmoid(x))


def kernel_fn(x):
    out = torch.zeros_like(x)
    _pending.append((out, x))
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    return out
