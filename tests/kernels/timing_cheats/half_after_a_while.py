"""Computes half of the rows once it has been called often enough to be past any check before timing.

catalogue: B3
expect: WRONG_RESULT
needs: cpu
"""

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=64, cols=1024, device="cuda" if torch.cuda.is_available() else "cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


_calls = [0]


def kernel_fn(x, y):
    _calls[0] += 1
    if _calls[0] < 16:
        return torch.nn.functional.silu(x) * y
    out = torch.zeros_like(x)
    half = x.shape[0] // 2
    torch.mul(torch.nn.functional.silu(x[:half]), y[:half], out=out[:half])
    return out
