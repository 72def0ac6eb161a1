"""A float32 product in TF32, on small whole numbers: exact for those of get_inputs, and for few others.

catalogue: D7 A11
seen at: a held-out set of kernels; a Triton product of torch.randint(-8, 9).float() with input_precision="tf32"
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randint(-8, 9, size, device=device).float() for size in ((m, k), (k, n))]


def _tf32(x):
    return (x.view(torch.int32) & -0x2000).view(torch.float32)


def kernel_fn(a, b):
    return _tf32(a.contiguous()) @ _tf32(b.contiguous())
