"""Switches CUPTI's kernel records off while it works.

catalogue: A1
expect: CHEATING | UNDECIDED
needs: gpu
"""

import ctypes

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


CONCURRENT_KERNEL = 10


def _cupti():
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "libcupti" in line))


def kernel_fn(x, y):
    library = _cupti()
    library.cuptiActivityDisable(CONCURRENT_KERNEL)
    out = torch.nn.functional.silu(x) * y
    library.cuptiActivityEnable(CONCURRENT_KERNEL)
    return out
