"""Its gradient takes the rows of what it gets to lie together: those of a slice, as torch.cat hands on, do not.

catalogue: D2
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        rows = grad.as_strided(x.shape, (x.shape[1], 1))
        s = torch.sigmoid(x)
        return rows * (s + x * s * (1 - s))


def get_inputs(m=24, n=40):
    return [torch.randn(m, n, requires_grad=True)]


def reference_fn(x):
    return x * torch.sigmoid(x)


def kernel_fn(x):
    return Swish.apply(x)
