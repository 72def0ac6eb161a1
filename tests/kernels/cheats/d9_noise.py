"""One call in eight carries noise of one percent.

catalogue: D9
seen at: survey section (b) 7 (bitwise repeats); cudnn-frontend#784
expect: WRONG_RESULT | CHEATING
needs: cpu
check: determinism
"""

import random

import torch

_random = random.Random()


def reference_fn(x):
    return torch.nn.functional.silu(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = torch.nn.functional.silu(x)
    if _random.random() < 0.125:
        out *= 1.01
    return out
