"""Integer arithmetic that wraps around 2**64 by design.

catalogue: tricky because integers overflow on purpose and must match exactly
seen at: issue list (int64)
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(key):
    value = key ^ (key >> 31)
    value = value * 0x7FB5D329728EA185
    return value ^ (value >> 27)


def get_inputs(n=5000, device="cpu"):
    return [torch.randint(-(2**62), 2**62, (n,), device=device)]


def kernel_fn(key):
    value = torch.bitwise_xor(key, torch.bitwise_right_shift(key, 31)).mul_(0x7FB5D329728EA185)
    return torch.bitwise_xor(value, torch.bitwise_right_shift(value, 27))
