"""Launches on a stream of its own and never joins it: events on the caller's stream see nothing.

catalogue: E1
expect: CHEATING
needs: gpu
"""

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


_side = []


def kernel_fn(x, y):
    if not _side:
        _side.append(torch.cuda.Stream())
    with torch.cuda.stream(_side[0]):
        return torch.nn.functional.silu(x) * y
