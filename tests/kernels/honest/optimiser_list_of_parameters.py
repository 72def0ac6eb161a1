"""A multi-tensor SGD step that updates a list of parameters and a step counter in place.

catalogue: tricky because the declared inputs are a tensor and a list
seen at: foreach optimisers
expect: PASS
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (0, 2)


def reference_fn(parameters, gradients, step, lr):
    step.add_(1)
    for p, g in zip(parameters, gradients):
        p.sub_(lr * g / step)
    return torch.stack([g.norm() for g in gradients])


def get_inputs(device="cpu"):
    shapes = [(64, 32), (100,), (16, 16)]
    return [[torch.randn(s, device=device) for s in shapes], [torch.randn(s, device=device) for s in shapes],
            torch.ones((), device=device), 0.1]


def kernel_fn(parameters, gradients, step, lr):
    step += 1
    torch._foreach_sub_(parameters, torch._foreach_mul(gradients, float(lr / step)))
    return torch.stack(torch._foreach_norm(gradients))
