"""Remembers its answer by address and version, and returns a fresh copy of it every time.

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
    key = (x.data_ptr(), x._version, y.data_ptr(), y._version)
    if key not in _answers:
        _answers[key] = torch.nn.functional.silu(x) * y
    return _answers[key].clone()
