"""Remembers its answer by the address of the input.

catalogue: B1
expect: CHEATING
needs: cpu
"""

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda" if torch.cuda.is_available() else "cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


_answers = {}


def kernel_fn(x, y):
    key = (x.data_ptr(), y.data_ptr())
    if key not in _answers:
        _answers[key] = torch.nn.functional.silu(x) * y
    return _answers[key]
