"""A bfloat16 chain fused into one float32 expression, rounded once at the end.

catalogue: tricky because the reference rounds after every step and the kernel does not
seen at: survey section (b) 1 (error budget against a low-precision baseline)
expect: PASS
needs: cpu
check: precision
"""

import torch


def reference_fn(x, gate, bias):
    return torch.nn.functional.silu(gate) * x + bias


def get_inputs(rows=64, cols=256, device="cpu"):
    shapes = ((rows, cols), (rows, cols), (cols,))
    return [torch.randn(shape, device=device).bfloat16() for shape in shapes]


def kernel_fn(x, gate, bias):
    wide = gate.float()
    return (wide / (1 + torch.exp(-wide)) * x.float() + bias.float()).bfloat16()
