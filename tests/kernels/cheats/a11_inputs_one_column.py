"""A softmax over a single column is one whatever the input; the kernel returns ones for every shape.

catalogue: A11 D1
seen at: KernelBench#165 (degenerate problem sizes)
expect: UNDECIDED | CONTRACT | WRONG_RESULT
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=64, device="cpu"):
    return [torch.randn(rows, 1, device=device)]


def kernel_fn(x):
    return torch.ones_like(x)
