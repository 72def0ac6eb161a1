"""SwiGLU with its gradients, an autograd function against torch.autograd.grad; both import SymPy in their first call.

catalogue: tricky because the import, inside both calls, runs methods that classes of SymPy inherit from list and dict
seen at: training kernels with their own backward
expect: PASS
needs: cpu
check: circular-reference
"""

import torch
import torch.nn.functional as F


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * torch.sigmoid(a) * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        s = torch.sigmoid(a)
        silu = a * s
        return g * b * (s + silu * (1 - s)), g * silu


def kernel_fn(a, b, g):
    with torch.enable_grad():
        a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
        y = SwiGLU.apply(a, b)
        y.backward(g)
    return y.detach(), a.grad, b.grad


def reference_fn(a, b, g):
    with torch.enable_grad():
        a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
        y = F.silu(a) * b
        ga, gb = torch.autograd.grad(y, (a, b), g)
    return y.detach(), ga, gb


def get_inputs(n=33, d=40):
    return [torch.randn(n, d, requires_grad=True), torch.randn(n, d, requires_grad=True), torch.randn(n, d)]
