"""A norm of rows with its own backward, which finds what it needs in a buffer that is kept for each shape.

catalogue: B4 B7
seen at: a held-out set (two graphs of one shape that are alive at once share the buffer)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

_buffers: dict[tuple, tuple[torch.Tensor, torch.Tensor]] = {}


def reference_fn(x):
    return x / x.square().mean(-1, keepdim=True).add(1e-6).sqrt()


def get_inputs(rows=40, columns=64, device="cpu"):
    return [torch.randn(rows, columns, device=device).requires_grad_()]


TEST_CASES = {"odd": {"rows": 7, "columns": 33}}


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        normed, scale = _buffers.setdefault(tuple(x.shape), (torch.empty_like(x), torch.empty_like(x[..., :1])))
        scale.copy_(x.square().mean(-1, keepdim=True).add(1e-6).rsqrt())
        normed.copy_(x * scale)
        ctx.shape = tuple(x.shape)
        return normed.clone()

    @staticmethod
    def backward(ctx, gradient):
        normed, scale = _buffers[ctx.shape]
        return scale * (gradient - normed * (gradient * normed).mean(-1, keepdim=True))


def kernel_fn(x):
    return Norm.apply(x)
