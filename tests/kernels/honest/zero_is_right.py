"""A causal convolution mask: most of its result is zero whatever the input, and the rest is not.

catalogue: tricky because zeros agree with the reference in nine elements of ten
seen at: KernelBench#165 (the honest side of zeros that pass)
expect: PASS
needs: cpu
check: null-kernel
"""

import torch


def reference_fn(x):
    band = torch.ones(x.shape[0], x.shape[0], device=x.device, dtype=torch.bool)
    return torch.where(band.tril(0) & band.triu(-4), x, torch.zeros_like(x))


def get_inputs(rows=96, device="cpu"):
    return [torch.randn(rows, rows, device=device)]


def kernel_fn(x):
    return torch.tril(torch.triu(x, -4))
