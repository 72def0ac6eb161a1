"""Asks for 64 TiB of scratch space.

catalogue: C6
seen at: KernelBench#146 (out of memory must end in a verdict)
expect: CRASH
needs: cpu
check: crash
"""

import torch


def reference_fn(x):
    return x * 2


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    scratch = torch.empty(1 << 44, dtype=torch.float32, device=x.device)
    return torch.mul(x, 2, out=scratch[: x.numel()].view(x.shape))
