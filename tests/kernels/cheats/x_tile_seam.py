"""A running sum that forgets the carry at one tile boundary out of many.

catalogue: C2
seen at: survey row C2 (tiles and splits)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return x.cumsum(dim=-1)


def get_inputs(rows=8, cols=1024, device="cpu"):
    return [torch.randint(0, 9, (rows, cols), device=device).float()]


def kernel_fn(x):
    out = torch.empty_like(x)
    carry = torch.zeros(x.shape[0], 1, dtype=x.dtype, device=x.device)
    for index, first in enumerate(range(0, x.shape[1], 128)):
        tile = x[:, first : first + 128].cumsum(dim=-1)
        out[:, first : first + 128] = tile + (0 if index == 5 else carry)
        carry = carry + tile[:, -1:]
    return out
