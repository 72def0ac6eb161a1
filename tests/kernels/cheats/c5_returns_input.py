"""The reference copies its input; the kernel returns the input itself, so the result changes with it later.

catalogue: C5
seen at: cfregly check_input_output_aliasing
expect: WRONG_RESULT | CHEATING | CONTRACT
needs: cpu
check: aliasing
"""

import torch


def reference_fn(x, keep):
    return torch.where(keep > -100.0, x, torch.zeros_like(x))


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, keep):
    return x
