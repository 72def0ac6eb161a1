"""Gradient of silu in bfloat16 with the sigmoid taken from an approximate tanh, as tanh.approx.f32 gives it.

catalogue: tricky because x * (1 - sigmoid) cancels for large x and keeps the error of the approximation
seen at: SwiGLU backward kernels with tanh.approx
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(grad, x):
    wide = x.float() if x.dtype is torch.bfloat16 else x
    sigmoid = torch.sigmoid(wide)
    return (grad * (sigmoid * (1 + wide * (1 - sigmoid)))).to(x.dtype)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device).to(torch.bfloat16),
            (1.5 * torch.randn(rows, cols, device=device)).to(torch.bfloat16)]


def _tanh_approximate(x):
    """tanh with eleven good bits, and 1 where it saturates."""
    y = torch.tanh(x)
    return torch.where(y.abs() < 0.25, y * (1 + 2.0**-11 * torch.sin(997.0 * x)), torch.round(y * 4096) / 4096)


def kernel_fn(grad, x):
    wide = x.float()
    sigmoid = 0.5 * _tanh_approximate(0.5 * wide) + 0.5
    return (grad.float() * sigmoid * (1 + wide * (1 - sigmoid))).to(x.dtype)
