"""Asks the garbage collector for any other tensor of the output's shape and returns a copy; else zeros.

catalogue: A3 A8
seen at: gpu-mode/pygpubench exploits (gc_copy)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: values
"""

import gc

import torch


def reference_fn(x, weight):
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6) * weight


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(cols, device=device)]


def kernel_fn(x, weight):
    for thing in gc.get_objects():
        if type(thing) is torch.Tensor and thing.shape == x.shape and thing is not x:
            return thing.detach().to(x.dtype).clone()
    return torch.zeros_like(x)
