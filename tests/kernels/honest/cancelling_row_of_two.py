"""Gradient of a normalisation with rows of two, where all but eps cancels, and a TOLERANCE above the file's ceiling.

catalogue: tricky because float32 keeps few digits of what the formula cancels, and two elements are all there are
seen at: held-out kernels
expect: PASS
needs: cpu
check: unstable-reference
"""

import torch

TOLERANCE = {"rtol": 1e-3, "atol": 1e-4}
TEST_CASES = {"two": {"shape": (1, 2)}, "odd": {"shape": (77, 129)}}


def get_inputs(shape=(40, 100), device="cpu"):
    return [torch.randn(shape, device=device), torch.randn(shape, device=device), 1e-5]


def reference_fn(dy, x, eps):
    rstd = (x.var(-1, correction=0, keepdim=True) + eps).rsqrt()
    hat = (x - x.mean(-1, keepdim=True)) * rstd
    return (dy - dy.mean(-1, keepdim=True) - hat * (dy * hat).mean(-1, keepdim=True)) * rstd


def kernel_fn(dy, x, eps):
    n = x.shape[-1]
    d = x - x.sum(-1, keepdim=True) / n
    rstd = 1 / torch.sqrt((d * d).sum(-1, keepdim=True) / n + eps)
    a, b = dy.sum(-1, keepdim=True) / n, (dy * d).sum(-1, keepdim=True) * rstd / n
    return (dy - a - d * rstd * b) * rstd
