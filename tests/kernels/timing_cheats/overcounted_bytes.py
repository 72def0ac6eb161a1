"""Claims to move ten times the bytes that it moves.

catalogue: E4
expect: CHEATING
needs: gpu
"""

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]



def bytes_moved(x, y):
    return 30 * x.numel() * x.element_size()


def kernel_fn(x, y):
    return torch.nn.functional.silu(x) * y
