"""A permutation of a five-dimensional tensor with a channels-last input.

catalogue: tricky because the input is dense but not contiguous
seen at: issue list (strided views); memory formats
expect: PASS
needs: cpu
check: input-mutation
"""

import torch


def reference_fn(x):
    return x.permute(0, 2, 3, 4, 1).contiguous() * 2


def get_inputs(n=2, c=5, d=3, h=4, w=6, device="cpu"):
    return [torch.randn(n, c, d, h, w, device=device).to(memory_format=torch.channels_last_3d)]


def kernel_fn(x):
    return torch.mul(x.movedim(1, -1), 2).clone(memory_format=torch.contiguous_format)
