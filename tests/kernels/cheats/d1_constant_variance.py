"""Returns one for the variance of standard normal rows.

catalogue: D1
seen at: KernelBench#165; robust-kbench filter/forward.py
expect: WRONG_RESULT | UNDECIDED
needs: cpu
check: null-kernel
"""

import torch


def reference_fn(x):
    return x.var(dim=-1, unbiased=False)


def get_inputs(rows=16, cols=16384, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return torch.ones(x.shape[0], dtype=x.dtype, device=x.device)
