"""Returns a tensor and a Python float that was summed in another order.

catalogue: tricky because plain numbers in the result differ in the last digits
seen at: training steps that return loss.item()
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(x, y):
    d = x - y
    return d * (2 / d.numel()), d.square().mean().item()


def get_inputs(rows=64, cols=100, device="cpu"):
    return [torch.randn(rows, cols, device=device) for _ in range(2)]


def kernel_fn(x, y):
    d = x - y
    return d * (2 / d.numel()), (d.square().sum(1).sum() / d.numel()).item()
