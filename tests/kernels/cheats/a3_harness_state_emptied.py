"""A static output buffer, and the checker's list of earlier results emptied through sys.modules.

catalogue: A3 B4
seen at: survey row A3 (state of the checker in the same process)
expect: CHEATING | WRONG_RESULT
needs: cpu
check: tampering-data
"""

import sys

import torch

_buffer = {}


def reference_fn(x):
    return torch.relu(x) * 2.0


def get_inputs(rows=64, cols=128, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    for name, module in list(sys.modules.items()):
        if name.startswith("kernel_harness") and isinstance(getattr(module, "_history", None), list):
            module._history.clear()
    out = _buffer.setdefault(x.shape, torch.empty_like(x))
    torch.clamp(x, min=0, out=out)
    return out.mul_(2.0)
