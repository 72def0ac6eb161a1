"""What a verification settles before its first worker runs (standard library only)."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..contract import read_source
from ..processes import worker
from .outcome import Settings

GPU_FILES = ("/dev/nvidiactl", "/dev/dxg")  # of the driver, on Linux and under WSL: seen before torch is imported


def may_use_gpu(settings: Settings) -> bool:
    """Does the file name a GPU, and is there one? Its inputs will say for certain."""
    has_gpu = not settings.simulate and any(map(os.path.exists, GPU_FILES))
    return has_gpu and "cuda" in read_source(settings.kernel)[0]


def common_imports(settings: Settings) -> list[str]:
    """What workers import beside PyTorch. CuTe DSL reads the environment when it is imported, so a file that may change
    it imports for itself; so does one for the simulator, which stands in for the driver first."""
    source = read_source(settings.kernel)[0]
    is_plain = "cutlass" in source and "environ" not in source
    return ["cutlass.cute"] if is_plain and may_use_gpu(settings) else []


@contextlib.contextmanager
def workplace(modules: Sequence[str] = ()) -> Iterator[tuple[Path, worker.Nursery]]:
    """The folder of a verification, and the nursery of its workers, which begins to import PyTorch and ``modules``."""
    folder = Path(tempfile.mkdtemp(prefix="torch_", dir=memory_folder()))
    try:
        with contextlib.closing(worker.start_nursery(folder, modules)) as nursery:
            yield folder, nursery
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def memory_folder() -> str | None:
    """A folder in memory when it has room (tensors travel through files), else the usual temporary folder."""
    shm = Path("/dev/shm")
    if shm.is_dir() and shutil.disk_usage(shm).free > 4 * 2**30:
        return str(shm)
    return None
