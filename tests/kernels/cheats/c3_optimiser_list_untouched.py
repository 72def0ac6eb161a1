"""A multi-tensor optimiser that takes lists of parameters, returns the gradients' norm and updates nothing.

catalogue: C2 C3
seen at: foreach optimisers: the parameters travel in a list
expect: WRONG_RESULT
needs: cpu
check: mutated-lists-compared
"""

import torch

MUTATES = (0,)


def reference_fn(parameters, gradients, lr):
    for p, g in zip(parameters, gradients):
        p.sub_(lr * g)
    return torch.stack([g.norm() for g in gradients])


def get_inputs(device="cpu"):
    shapes = [(64, 32), (100,), (16, 16)]
    return [[torch.randn(s, device=device) for s in shapes], [torch.randn(s, device=device) for s in shapes], 0.1]


def kernel_fn(parameters, gradients, lr):
    return torch.stack([g.norm() for g in gradients])
