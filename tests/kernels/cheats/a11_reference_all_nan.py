"""The reference is NaN everywhere, which some checkers take for a wildcard; the kernel returns NaN too.

catalogue: A11 D12
seen at: pygpubench check.cu (expected NaN is a wildcard); autokernel bench.py:837
expect: CONTRACT | UNDECIDED
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x):
    return torch.log(-1 - x.abs())


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return torch.full_like(x, float("nan"))
