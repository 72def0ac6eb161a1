"""Right values, but the input is used as scratch space and left changed, which MUTATES does not say.

catalogue: C3
seen at: KernelBench zero_out_kernel.py; kernelbot cheat-input.py
expect: WRONG_RESULT | CHEATING
needs: cpu
check: input-mutation
"""

import torch


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    x.sub_(x.amax(dim=-1, keepdim=True)).exp_()
    return x / x.sum(dim=-1, keepdim=True)
