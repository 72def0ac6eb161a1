"""Runs through a torch.autograd.Function, as modules with a backward do.

catalogue: tricky because the result of apply() is a plain tensor with a history when an input asks for one
seen at: quack and FlashAttention interfaces
expect: PASS
needs: cpu
check: structure
"""

import torch


class _Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


def reference_fn(x):
    return x * x


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return _Square.apply(x)
