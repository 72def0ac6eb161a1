"""Computes the right values and re-seeds every global generator, so that later "random" inputs are known.

catalogue: A7
seen at: kernelbot examples cheat-rng.py
expect: CHEATING
needs: cpu
check: tampering-state
"""

import random

import numpy
import torch


def reference_fn(x):
    return torch.nn.functional.silu(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)
    return torch.nn.functional.silu(x)
