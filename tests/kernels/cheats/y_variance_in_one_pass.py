"""A layer norm whose variance is the mean of squares less the squared mean: no digit is left of it far from zero.

catalogue: D7
seen at: a stranger's file, and older CUDA kernels
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5)


def kernel_fn(x):
    mean = x.mean(-1, keepdim=True)
    variance = (x.square().mean(-1, keepdim=True) - mean.square()).clamp(min=0)
    return (x - mean) * torch.rsqrt(variance + 1e-5)


def get_inputs(rows=32, columns=500, device="cpu"):
    return [torch.randn(rows, columns, device=device)]
