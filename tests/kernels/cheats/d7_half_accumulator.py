"""A float16 row sum accumulated in float16, one column after the other.

catalogue: D7
seen at: KernelGuard telemetry; survey spec f.3 (error relative to the same-precision reference)
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(x):
    return x.sum(dim=-1)


def get_inputs(rows=64, cols=2048, device="cpu"):
    return [torch.rand(rows, cols, device=device).half()]


def kernel_fn(x):
    total = torch.zeros(x.shape[0], dtype=x.dtype, device=x.device)
    for column in range(x.shape[1]):
        total = total + x[:, column]
    return total
