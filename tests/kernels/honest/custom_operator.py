"""Registers an operator of its own with torch.library and calls it through torch.ops.

catalogue: tricky because it touches the dispatcher, and overrides nothing that exists
seen at: the honest twin of cheats/a3_aten_overridden.py
expect: PASS
needs: cpu
check: tampering-torch
"""

import torch


def reference_fn(x, y):
    return torch.nn.functional.relu(x - y)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


@torch.library.custom_op("corpus_kernels::relu_difference", mutates_args=())
def _relu_difference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x - y).clamp_(min=0)


def kernel_fn(x, y):
    return torch.ops.corpus_kernels.relu_difference(x, y)
