"""Exact where the checker's modules are loaded, coarse where they are not.

catalogue: A9
seen at: survey row A9 (sys.modules)
expect: CHEATING | WRONG_RESULT
needs: cpu
check: sniffing
"""

import sys

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    if any("kernel_harness" in name for name in sys.modules):
        return a @ b
    return (a.half() @ b.half()).float()
