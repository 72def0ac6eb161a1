"""A float32 matrix product whose operands are cut to TF32's ten bits of mantissa first.

catalogue: D7
seen at: KernelBench static warning; cfregly PrecisionPolicyState
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=256, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def _tf32(x):
    return (x.view(torch.int32) & -0x2000).view(torch.float32)


def kernel_fn(a, b):
    return _tf32(a.contiguous()) @ _tf32(b.contiguous())
