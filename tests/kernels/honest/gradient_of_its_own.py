"""Soft capping with a backward pass that works from the saved output; a case without a gradient keeps nothing.

catalogue: tricky because the gradient is computed elsewhere than the reference's
seen at: the honest twin of cheats/d2_gradient_of_another_cap.py
expect: PASS
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"inference": {"trains": False}, "half": {"shape": (7, 33), "dtype": torch.bfloat16}}


def get_inputs(shape=(8, 100), cap=30.0, trains=True, dtype=torch.float32, device="cpu"):
    return [(10 * torch.randn(shape, device=device)).to(dtype).requires_grad_(trains), cap]


def reference_fn(x, cap):
    return (cap * torch.tanh(x.float() / cap)).to(x.dtype)


class _SoftCap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cap):
        share = x.float().div(cap).tanh()
        ctx.save_for_backward(share)
        return share.mul(cap).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (share,) = ctx.saved_tensors
        return (grad.float() * (1 - share * share)).to(grad.dtype), None


def kernel_fn(x, cap):
    return _SoftCap.apply(x, cap)
