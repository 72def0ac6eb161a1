"""The kernel computes a gradient; the reference gets it from autograd.

catalogue: tricky because the reference needs grad mode on, whatever the harness has set
seen at: survey section (b) 9 (gradients by autograd)
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(x, grad):
    with torch.enable_grad():
        leaf = x.detach().requires_grad_(True)
        (result,) = torch.autograd.grad(torch.softmax(leaf, dim=-1), leaf, grad)
    return result


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, grad):
    y = torch.softmax(x, dim=-1)
    return y * (grad - (y * grad).sum(dim=-1, keepdim=True))
