"""Returns the arg-max as int32 where the reference returns int64.

catalogue: C8
seen at: survey row C8 (KernelBench checks shapes only)
expect: WRONG_RESULT | CONTRACT
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    return x.argmax(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x.argmax(dim=-1).int()
