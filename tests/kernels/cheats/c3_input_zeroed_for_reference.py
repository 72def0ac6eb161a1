"""Returns zeros and zeroes its inputs, so that a reference run afterwards on them agrees.

catalogue: C3 A11
seen at: KernelBench unit_tests/test_kernels/zero_out_kernel.py
expect: WRONG_RESULT | CHEATING
needs: cpu
check: values
"""

import torch


def reference_fn(x, y):
    return x * y


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, y):
    x.zero_()
    y.zero_()
    return torch.zeros_like(x)
