"""Recognisable bytes in memory that the next allocations will get: what a kernel does not write shows in its result."""

from __future__ import annotations

import contextlib
import ctypes

import torch

from .. import values
from ..outputs import leaves

M_PERTURB, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -6, -3, -1  # mallopt(3), glibc
PATTERNS = {"nan": 0xFF, "large": 0x7B}  # all-ones is NaN in every float format; 0x7B7B... is large and finite


def poison_next(sizes: list[int], kind: str, device: str) -> None:
    """Leave recognisable bytes in memory that the next allocations of these sizes will get."""
    limit = 2**30
    if device == "cpu":
        _poison_malloc(kind)
    else:
        limit = max(limit, torch.cuda.mem_get_info(device)[0] // 8)  # bytes; two blocks of each size are made
    blocks = [
        torch.full((max(size, 1),), PATTERNS[kind], dtype=torch.uint8, device=device)
        for size in sizes
        if size < limit
        for _ in range(2)
    ]
    del blocks


def _poison_malloc(kind: str) -> None:
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, 2**30)  # large blocks come from the heap and are reused, poison and all
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
        # glibc fills new memory with the complement of this byte; zero switches that off (for NaN, freed blocks do).
        mallopt(M_PERTURB, 0 if kind == "nan" else PATTERNS[kind] ^ 0xFF)


def poison_results(inputs: list, result, byte: int) -> None:
    """Overwrite the memory of the results, but not that of inputs, which a kernel may change or return views of."""
    held = {t.untyped_storage().data_ptr() for t in leaves(inputs)}
    for tensor in leaves(result):
        if tensor.untyped_storage().data_ptr() not in held and tensor.numel():
            start, stop = values.extent(tensor)
            values.storage_bytes(tensor, start, stop - start).fill_(byte)
    torch.cuda.synchronize()
