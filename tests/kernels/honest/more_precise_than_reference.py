"""A float16 RMS norm in float32: where the reference overflows in float16, the kernel does not.

catalogue: tricky because the kernel is more precise than the same-precision reference
seen at: survey section (b) 1 and 4 (float64 oracle, single downcast)
expect: PASS
needs: cpu
check: precision
"""

import torch


def reference_fn(x):
    return x * torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-3)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device).half()]


def kernel_fn(x):
    wide = x.double()
    return (wide * torch.rsqrt((wide * wide).mean(dim=-1, keepdim=True) + 1e-3)).half()
