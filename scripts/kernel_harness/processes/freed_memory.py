"""Freed memory stays with the process (standard library only)."""

from __future__ import annotations

import contextlib
import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # of malloc.h
KEPT_BYTES = 2**30
LARGEST_BYTES = 2**25  # of a block that is taken from what is kept; glibc takes no more for this limit


def keep() -> None:
    """Let this process's blocks of up to 32 MiB come from what it freed before, for all of its threads.

    glibc gives freed blocks of that size back to the system, and the next temporary tensor meets every page of its own
    anew: half of the time of a comparison (results/cpu-2026-11-26-7995adb-freed-memory.json). Another C library does as
    it likes.
    """
    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_ARENA_MAX, 1)  # a thread's own arena would be given back as a whole
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(M_MMAP_THRESHOLD, LARGEST_BYTES)
