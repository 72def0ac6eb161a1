"""Returns the same buffer from every call.

catalogue: B4
expect: WRONG_RESULT
needs: cpu
"""

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda" if torch.cuda.is_available() else "cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


_out = {}


def kernel_fn(x, y):
    out = _out.setdefault(x.shape, torch.empty_like(x))
    return torch.mul(torch.nn.functional.silu(x), y, out=out)
