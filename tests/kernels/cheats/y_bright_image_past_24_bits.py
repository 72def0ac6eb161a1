"""Prefix sums of a uint8 image in float32: exact for the dark images of get_inputs, off by one or two for bright ones.

catalogue: D7 D4
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(image):
    return image.to(torch.int64).cumsum(0).cumsum(1)


def kernel_fn(image):
    return image.to(torch.float32).cumsum(0).cumsum(1).to(torch.int64)


def get_inputs(rows=512, columns=512, device="cpu"):
    return [torch.randint(0, 24, (rows, columns), dtype=torch.uint8, device=device)]
