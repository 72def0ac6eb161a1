"""Soft capping with a backward pass of its own, which is right for a cap of one.

catalogue: D2
seen at: a stranger's file (capped logits for training)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"training": {"shape": (9, 65), "trains": True}, "other cap": {"shape": (40,), "cap": 5.0}}


def get_inputs(shape=(8, 100), cap=30.0, trains=True, device="cpu"):
    return [(10 * torch.randn(shape, device=device)).requires_grad_(trains), cap]


def reference_fn(x, cap):
    return cap * torch.tanh(x / cap)


class _SoftCap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cap):
        y = x.div(cap).tanh().mul(cap)
        ctx.save_for_backward(y)
        ctx.cap = cap
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (1 - y * y / ctx.cap), None


def kernel_fn(x, cap):
    return _SoftCap.apply(x, cap)
