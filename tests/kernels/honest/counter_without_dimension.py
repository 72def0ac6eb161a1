"""Batch statistics kept in place, with a counter that is an integer tensor of no dimension.

catalogue: false-positive trap for B1
seen at: batch normalisation in training
expect: PASS
needs: cpu
check: replay
"""

import torch

MUTATES = (1, 2)


def reference_fn(x, mean, count):
    mean.mul_(0.9).add_(0.1 * x.mean(0))
    count += 1
    return x - x.mean(0)


def get_inputs(n=60, d=12, device="cpu"):
    return [torch.randn(n, d, device=device), torch.zeros(d, device=device), torch.tensor(0, device=device)]


def kernel_fn(x, mean, count):
    center = x.sum(0) / x.shape[0]
    mean.mul_(0.9).add_(0.1 * center)
    count.add_(1)
    return x - center
