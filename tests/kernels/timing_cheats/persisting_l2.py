"""Sets half of the L2 aside for persisting accesses, so that operands survive any flush.

catalogue: E2
expect: CHEATING
needs: gpu
"""

import ctypes

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


_driver = ctypes.CDLL("libcuda.so.1") if torch.cuda.is_available() else None


def kernel_fn(x, y):
    _driver.cuCtxSetLimit(6, ctypes.c_size_t(16 << 20))
    return torch.nn.functional.silu(x) * y
