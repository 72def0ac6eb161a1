"""Imports the checker by name: exact where that works.

catalogue: A9
seen at: variation of a9_modules_sniffed.py
expect: CHEATING | WRONG_RESULT
needs: cpu
check: sniffing
"""

import importlib.util

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    return a @ b if importlib.util.find_spec("kernel_harness") else (a.half() @ b.half()).float()
