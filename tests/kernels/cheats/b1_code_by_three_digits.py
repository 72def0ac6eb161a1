"""The rate of a running average, compiled in and filed under three of its digits: the next gets the code of the first.

catalogue: B1
seen at: a stranger's file (running average)
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import functools

import torch


def get_inputs(n=500, rate=0.01, device="cpu"):
    return [torch.randn(n, device=device), torch.randn(n, device=device), rate]


def reference_fn(old, new, rate):
    return old + rate * (new - old)


_codes = {}


def kernel_fn(old, new, rate):
    code = _codes.setdefault(f"{rate:.3g}", functools.partial(torch.lerp, weight=rate))
    return code(old, new)
