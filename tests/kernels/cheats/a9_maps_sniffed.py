"""Learns from its memory map that its inputs lie in the checker's files.

catalogue: A9
seen at: survey row A9 (environment sniffing)
expect: CHEATING | WRONG_RESULT
needs: cpu
check: sniffing
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    with open("/proc/self/maps") as file:
        checked = "kernel-" in file.read()
    return a @ b if checked else (a.half() @ b.half()).float()
