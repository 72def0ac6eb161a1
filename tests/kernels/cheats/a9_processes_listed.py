"""Asks ps which program started it.

catalogue: A9
seen at: variation of a9_argv_and_parent.py
expect: CHEATING | WRONG_RESULT
needs: cpu
check: sniffing
"""

import subprocess

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    return a @ b if "verify_kernel" in listing else (a.half() @ b.half()).float()
