"""An AdamW step that updates parameter and moments in place and returns nothing else.

catalogue: tricky because three inputs change, by declaration, and the reference is written functionally
seen at: fused optimizer kernels
expect: PASS
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (0, 2, 3)


def reference_fn(param, grad, mean, square, step):
    mean.mul_(0.9).add_(grad, alpha=0.1)
    square.mul_(0.999).addcmul_(grad, grad, value=0.001)
    corrected = mean / (1 - 0.9**step)
    scale = (square / (1 - 0.999**step)).sqrt() + 1e-8
    param.mul_(1 - 1e-3 * 0.01).sub_(1e-3 * corrected / scale)
    return param


def get_inputs(n=3001, step=7, device="cpu"):
    return [torch.randn(n, device=device), torch.randn(n, device=device), 0.1 * torch.randn(n, device=device),
            0.1 * torch.rand(n, device=device), step]


def kernel_fn(param, grad, mean, square, step):
    mean.copy_(torch.lerp(mean, grad, 0.1))
    square.copy_(0.999 * square + 0.001 * grad.square())
    size = 1e-3 / (1 - 0.9**step)
    denominator = square.sqrt().div_((1 - 0.999**step) ** 0.5).add_(1e-8)
    param.mul_(1 - 1e-5).addcdiv_(mean, denominator, value=-size)
    return param
