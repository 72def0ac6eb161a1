"""Saturating functions in forms of the kernel's own: infinity is a limit there, and no rule.

catalogue: tricky because the reference is finite where an input is infinite
seen at: activation kernels
expect: PASS
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"shape": (7, 129)}}


def get_inputs(shape=(64, 100)):
    return [torch.randn(shape)]


def reference_fn(x):
    return torch.tanh(x), torch.sigmoid(x), x.clamp(-1, 1), 1 / (1 + x * x), torch.atan(x)


def kernel_fn(x):
    e = torch.exp(-2 * x.abs())
    tanh = torch.copysign((1 - e) / (1 + e), x)
    sigmoid = 0.5 + 0.5 * torch.tanh(0.5 * x)
    clamped = torch.minimum(torch.maximum(x, torch.tensor(-1.0)), torch.tensor(1.0))
    root = torch.rsqrt(1 + x * x)
    return tanh, sigmoid, clamped, root * root, torch.atan2(x, torch.ones_like(x))
