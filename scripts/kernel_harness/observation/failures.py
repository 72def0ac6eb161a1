"""What an exception out of kernel_fn means: it does not compile, it leaves, it needs a GPU, it fails."""

from __future__ import annotations

from pathlib import Path

import torch

from .. import simulation
from ..api import compile_errors
from ..contract import author_traceback
from .reference_guard import ReferenceCalled


def answer(error: BaseException, path: Path) -> dict:
    """What a worker answers when the code of the file at ``path`` raised ``error``.

    kind: "compile", "exit" (SystemExit), "unsupported" (by the simulator) or "crash"; instead of all that "cheat" where
    it called reference_fn.
    """
    if isinstance(error, ReferenceCalled):
        return {"cheat": "kernel_fn calls reference_fn"}
    module = type(error).__module__
    text = " ".join(str(error).split())
    compiling = (
        compile_errors.is_compiling(error)
        or module.startswith("torch._inductor")
        or "Error building extension" in text
        or "NVRTC" in text
        or type(error).__name__ == "CompilationError"
    )
    leaves = isinstance(error, SystemExit)
    return {
        "error": f"{type(error).__name__}: {text[:500]}" if text else type(error).__name__,
        "kind": "unsupported"
        if simulation.cannot(error)
        else "compile"
        if compiling
        else "exit"
        if leaves
        else "crash",
        "exit_code": error.code if leaves and isinstance(error.code, int) else 0 if leaves else None,
        "no_gpu": not torch.cuda.is_available()
        and any(word in text for word in ("NVIDIA driver", "not compiled with CUDA", "0 active drivers", "CUDA_ERROR")),
        "detail": author_traceback(error, path),
    }
