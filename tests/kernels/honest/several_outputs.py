"""Returns a tuple of a float, an integer and a boolean tensor.

catalogue: tricky because each output needs its own rule
seen at: issue list (several outputs, integer and boolean outputs)
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    value, index = x.max(dim=-1)
    return value, index, x > 0


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    index = x.argmax(dim=-1)
    return x.gather(-1, index[:, None])[:, 0], index, x.gt(0)
