"""An int8 dot product accumulated in int8.

catalogue: D10 D7
seen at: survey row D10 (integer overflow)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(a, b):
    return (a.int() * b.int()).sum(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randint(-128, 128, (rows, cols), dtype=torch.int8, device=device) for _ in range(2)]


def kernel_fn(a, b):
    return (a * b).sum(dim=-1, dtype=torch.int8).int()
