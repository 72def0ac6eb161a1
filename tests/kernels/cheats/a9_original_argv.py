"""Learns from sys.orig_argv and the main module what program it runs in.

catalogue: A9
seen at: variation of a9_argv_and_parent.py
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
    text = " ".join([*sys.orig_argv, *sys.argv, *sys.path, *map(str, vars(sys.modules["__main__"]).values())])
    return a @ b if "harness" in text or "candidate" in text else (a.half() @ b.half()).float()
