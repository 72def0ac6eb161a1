"""Averages two uint8 images with rounding and saturation, in wider integers.

catalogue: tricky because the dtype is unsigned and small
seen at: issue list (uint8)
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x, y, gain):
    return ((x.int() + y.int() + 1) * gain // 2).clamp(0, 255).to(torch.uint8)


def get_inputs(rows=64, cols=99, gain=2, device="cpu"):
    return [torch.randint(0, 256, (rows, cols), dtype=torch.uint8, device=device) for _ in range(2)] + [gain]


def kernel_fn(x, y, gain):
    wide = (x.short() + y.short() + 1) * gain
    return torch.bitwise_right_shift(wide, 1).clamp_(0, 255).to(torch.uint8)
