"""A fixed-point kernel that raises ValueError for values beyond its range, as its documentation says.

catalogue: tricky because the kernel refuses what the reference accepts
seen at: the verifier's own advice: kernel_fn must raise ValueError
expect: PASS
needs: cpu
check: hostile-values
"""

import torch


def reference_fn(x):
    return torch.round(x * 4096) / 4096


def get_inputs(rows=64, cols=128, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if not bool((x.abs() < 64).all()):
        raise ValueError("values must be below 64: the kernel works in fixed point")
    return torch.round(x * 4096).to(torch.int32).to(torch.float32) * (1 / 4096)
