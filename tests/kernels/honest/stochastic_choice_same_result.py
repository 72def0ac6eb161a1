"""Picks one of two equal algorithms at random at each call.

catalogue: tricky because the path differs from call to call and the value does not beyond rounding
seen at: survey section (b) 7 (bitwise repeats; fails only if the spread exceeds the budget)
expect: PASS
needs: cpu
check: determinism
"""

import random

import torch

_random = random.Random()


def reference_fn(x):
    return torch.logsumexp(x, dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    peak = x.amax(dim=-1, keepdim=True).nan_to_num(posinf=0.0, neginf=0.0)
    shifted = torch.exp(x - peak)
    total = shifted.sum(dim=-1) if _random.random() < 0.5 else shifted.flip(-1).cumsum(dim=-1)[:, -1]
    return torch.log(total) + peak[:, 0]
