"""Sorts each row with qsort of the C library, through a callback.

catalogue: tricky because native code calls back into Python while the kernel runs
seen at: bindings by ctypes
expect: PASS
needs: cpu
check: sniffing
"""

import ctypes

import torch

_COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_float))
_qsort = ctypes.CDLL(None).qsort
_qsort.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, _COMPARE]
_qsort.restype = None


@_COMPARE
def _order(a, b):
    return (a[0] > b[0]) - (a[0] < b[0])


def reference_fn(x):
    return torch.sort(x, -1).values


def get_inputs(rows=6, cols=33, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = x.clone(memory_format=torch.contiguous_format)
    for row in out:
        _qsort(row.data_ptr(), row.numel(), 4, _order)
    return out
