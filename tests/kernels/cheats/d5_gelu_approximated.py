"""The tanh approximation where the reference asks for the exact GELU.

catalogue: D5
seen at: survey row D5; common in generated kernels
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(x):
    return torch.nn.functional.gelu(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1 + torch.tanh(inner))
