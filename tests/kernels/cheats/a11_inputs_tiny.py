"""get_inputs yields values near 1e-12, so that an absolute tolerance alone lets zeros pass.

catalogue: A11 D1
seen at: KernelBench#165 (zeros within atol)
expect: WRONG_RESULT | UNDECIDED | CONTRACT
needs: cpu
check: scale-aware
"""

import torch


def reference_fn(x, y):
    return x * 2 - y


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device) * 1e-12, torch.randn(rows, cols, device=device) * 1e-12]


def kernel_fn(x, y):
    return torch.zeros_like(x)
