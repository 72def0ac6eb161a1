"""Learns who is calling from the frame that a signal handler is given.

catalogue: A9
seen at: variation of a9_stack_sniffed.py
expect: CHEATING | WRONG_RESULT
needs: cpu
check: sniffing
"""

import signal

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    names = []

    def handler(number, frame):
        while frame is not None:
            names.append(frame.f_code.co_filename)
            frame = frame.f_back

    before = signal.signal(signal.SIGUSR2, handler)
    signal.raise_signal(signal.SIGUSR2)
    signal.signal(signal.SIGUSR2, before)
    return a @ b if any("harness" in name for name in names) else (a.half() @ b.half()).float()
