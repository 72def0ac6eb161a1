"""Returns a transposed view of its own fresh buffer: the values are right, the strides are not the reference's.

catalogue: tricky because the output is not contiguous though the reference's is
seen at: issue list (non-contiguous output, view of its own buffer)
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    return (b.t() @ a.t()).t()
