"""Right values, and the CPU rounds upward from then on: every later sum of the process is biased.

catalogue: A5
seen at: fesetround in numeric libraries
expect: CHEATING
needs: cpu
check: state
"""

import ctypes

import torch

UPWARD = 0x800  # FE_UPWARD on x86-64


def reference_fn(x):
    return torch.exp(x)


def get_inputs(n=1000, device="cpu"):
    return [torch.randn(n, device=device)]


def kernel_fn(x):
    out = torch.exp(x)
    ctypes.CDLL("libm.so.6").fesetround(UPWARD)
    return out
