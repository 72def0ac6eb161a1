"""Bytecode of installed packages, kept where Python keeps none (standard library only).

An image that sets PYTHONDONTWRITEBYTECODE, or packages in a folder that cannot be written, leave PyTorch and CuTe DSL
to be compiled at every start.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("torch", "cutlass")  # the large ones


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Around imports of installed packages, and of nothing that changes: bytecode is told from its source by seconds
    and size alone, which an edited kernel file may share with what it was."""
    before = sys.pycache_prefix, sys.dont_write_bytecode
    if before[0] is None and any(map(_lacks_bytecode, PACKAGES)) and (folder := _folder()):
        sys.pycache_prefix, sys.dont_write_bytecode = str(folder), False
    try:
        yield
    finally:
        sys.pycache_prefix, sys.dont_write_bytecode = before


def _lacks_bytecode(package: str) -> bool:
    """Is it installed without bytecode, and will its import leave none?"""
    with contextlib.suppress(ImportError, ValueError):
        if (spec := importlib.util.find_spec(package)) and spec.origin:
            folder = Path(spec.origin).parent
            is_written = "PYTHONDONTWRITEBYTECODE" not in os.environ and os.access(folder, os.W_OK)
            return not is_written and not (folder / "__pycache__").is_dir()
    return False


def _folder() -> Path | None:
    """A folder of this user's alone; its name says nothing to a kernel that looks who is calling."""
    with contextlib.suppress(OSError, RuntimeError):  # a user without a home, too
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "pycache"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.stat()
        if facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return folder
    return None
