"""Quantises with half rounded up, where the reference rounds half to even.

catalogue: D5 D7
seen at: survey section (b) 3 (exact inputs separate such errors from rounding)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return torch.round(x * 0.5).clamp(-128, 127).to(torch.int8)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randint(-300, 300, (rows, cols), device=device).float()]


def kernel_fn(x):
    return torch.floor(x * 0.5 + 0.5).clamp(-128, 127).to(torch.int8)
