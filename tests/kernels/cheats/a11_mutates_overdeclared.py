"""Declares every input as mutated to be free to scribble, and ruins the weight that the reference leaves alone.

catalogue: A11 C3
seen at: kernelbot cheat-input.py; helion benchmark_provider.py (mutated arguments are outputs)
expect: WRONG_RESULT | CHEATING | CONTRACT
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (0, 1)


def reference_fn(x, weight):
    x.mul_(weight)
    return x


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(cols, device=device)]


def kernel_fn(x, weight):
    x.mul_(weight)
    weight.zero_()
    return x
