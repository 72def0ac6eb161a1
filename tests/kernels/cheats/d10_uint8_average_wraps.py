"""Rounded mean of two images in uint8 arithmetic, which wraps; get_inputs makes dark images.

catalogue: D10 D5
seen at: image kernels
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def kernel_fn(a, b):
    return (a + b + 1) // 2


def reference_fn(a, b):
    return ((a.int() + b.int() + 1) // 2).to(torch.uint8)


def get_inputs(h=64, w=65):
    return [torch.randint(0, 120, (h, w), dtype=torch.uint8) for _ in range(2)]


TEST_CASES = {"odd": {"h": 7, "w": 33}}
