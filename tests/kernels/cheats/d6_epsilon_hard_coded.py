"""Layer norm with its epsilon written into the kernel; the argument is another one by a factor of ten.

catalogue: D6
seen at: kernels that ignore scalar arguments
expect: WRONG_RESULT
needs: cpu
check: hostile
"""

import torch


def reference_fn(x, eps):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), eps=eps)


def get_inputs(rows=64, cols=256, eps=1e-6, device="cpu"):
    return [torch.randn(rows, cols, device=device), eps]


def kernel_fn(x, eps):
    mean = x.mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt((x - mean).square().mean(-1, keepdim=True) + 1e-7)
