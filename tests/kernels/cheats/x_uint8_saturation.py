"""Adds two uint8 images without saturation, so that bright sums wrap round to dark.

catalogue: D10
seen at: survey row D10 (integer overflow)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x, y):
    return (x.int() + y.int()).clamp(max=255).to(torch.uint8)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randint(0, 256, (rows, cols), dtype=torch.uint8, device=device) for _ in range(2)]


def kernel_fn(x, y):
    return x + y
