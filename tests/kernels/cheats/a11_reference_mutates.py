"""The reference zeroes its input without saying so; a kernel that runs after it on the same tensor sees zeros.

catalogue: A11 C3
seen at: KernelBench eval.py:777 (reference runs first, inputs not cloned), zero_out_kernel.py
expect: CONTRACT | WRONG_RESULT | CHEATING
needs: cpu
check: reference-mutation
"""

import torch


def reference_fn(x):
    out = x * 3
    x.zero_()
    return out


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x * 3
