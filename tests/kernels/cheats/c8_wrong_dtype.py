"""Returns float32 where the reference returns bfloat16; the values agree after a cast.

catalogue: C8
seen at: KernelBench (checks shapes, not dtypes)
expect: WRONG_RESULT | CONTRACT
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    return torch.relu(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device, dtype=torch.bfloat16)]


def kernel_fn(x):
    return torch.relu(x).float()
