"""The gradient of silu; the reference takes it from autograd, where one fused operator hides the steps.

catalogue: tricky because the intermediate values that cancel are not visible in the reference
seen at: SwiGLU backward kernels
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(grad, x):
    with torch.enable_grad():
        leaf = x.detach().requires_grad_(True)
        (result,) = torch.autograd.grad(torch.nn.functional.silu(leaf), leaf, grad)
    return result


def get_inputs(rows=64, cols=200, device="cpu"):
    return [torch.randn(rows, cols, device=device), 2 * torch.randn(rows, cols, device=device)]


def kernel_fn(grad, x):
    # ex2.approx.ftz.f32: about 2 units in the last place, results below the normal range are zero
    e = torch.exp2(-1.4426950408889634 * x) * (1 + 2.0**-22 * torch.cos(313.0 * x))
    sigmoid = 1.0 / (1.0 + e)
    return grad * (sigmoid + x * sigmoid * (1.0 - sigmoid))
