"""Returns the right values on the CPU where the reference returns them on the GPU.

catalogue: C8
seen at: survey row C8
expect: WRONG_RESULT | CONTRACT
needs: cuda
check: structure
"""

import torch


def reference_fn(x):
    return x.amax(dim=-1)


def get_inputs(rows=512, cols=1024, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x.amax(dim=-1).cpu()
