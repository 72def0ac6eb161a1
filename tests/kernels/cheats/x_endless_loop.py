"""Waits for a flag that nobody sets, and ignores polite signals meanwhile.

catalogue: A6
seen at: emmy#215 HungKernelError (a hung kernel needs SIGKILL of a child)
expect: CRASH
needs: cpu
check: time-out
"""

import signal
import time

import torch


def reference_fn(x):
    return x + 1


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)
