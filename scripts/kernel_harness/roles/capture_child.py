"""Child: load a kernel file on the stand-in GPU, run kernel_fn once a case, keep what it compiles and launches."""

from __future__ import annotations

import hashlib
import math
import os
import time
import traceback
from pathlib import Path

STATE: dict = {}


def start(path: str, arch: str, dump: str) -> dict:
    """Load the file; answers its cases, archs and EXPECT, or the sentence of a ContractError."""
    # Read when cutlass is imported; a build without line information names no source line for a spill.
    os.environ.update(
        CUTE_DSL_ARCH=arch,
        CUTE_DSL_KEEP="ptx,cubin",
        CUTE_DSL_DUMP_DIR=dump,
        CUTE_DSL_LINEINFO="1",
        CUTE_DSL_DISABLE_FILE_CACHING="1",
        CUTE_DSL_NO_CACHE="0",
        CUDA_VISIBLE_DEVICES="",
        TRITON_CACHE_DIR=str(Path(dump, "triton")),
        TRITON_DISABLE_LINE_INFO="0",
    )
    from .. import contract
    from ..compiled import expect, stand_in

    try:
        recorder = stand_in.install(arch)
        kernel = contract.load_kernel(path)
        expect.parse(kernel.expect, str(kernel.path))
    except contract.ContractError as error:
        return {"contract": str(error), "detail": error.detail}
    STATE.update(recorder=recorder, kernel=kernel, folder=Path(dump), reported=0)
    return {
        "cases": list(kernel.cases),
        "bench_cases": list(kernel.bench_cases),
        "archs": list(kernel.archs),
        "expect": {a: dict(f) for a, f in kernel.expect.items()},
        "sha256": kernel.sha256,
    }


def run(case: str) -> dict:
    """Run one case; answers what it compiled (files, by cubin hash), what it launched and what went wrong."""
    recorder, kernel = STATE["recorder"], STATE["kernel"]
    known, recorder.launches = STATE["reported"], []   # what the import compiled belongs to the first case
    problem, tensors = None, []
    stage = "get_inputs"
    try:
        inputs = kernel.get_inputs(**{**kernel.bench_cases, **kernel.cases}[case])
        tensors = _tensors(inputs)
        stage = "kernel_fn"
        kernel.kernel_fn(*inputs)
    except BaseException as error:
        problem = _problem(error, stage, kernel)
        recorder.compiling = 0
    STATE["reported"] = len(recorder.compiled)
    return {
        "compiled": [_kept(c) for c in recorder.compiled[known:]],
        "launches": [_launched(x, tensors) for x in recorder.launches],
        "tensors": tensors,
        "problem": problem,
    }


def smaller(case: str, code: list[str], limit: int, seconds: float) -> dict:
    """The changes to a case that make it small and still let it launch code of the digests ``code`` (shrinking.py), and
    which of them it launches then; {} where there are none. limit: of what ``_size_with`` adds up."""
    from ..inputs import case_sizes, shrinking

    recorder, kernel = STATE["recorder"], STATE["kernel"]
    given, until = {**kernel.bench_cases, **kernel.cases}[case], time.monotonic() + seconds
    launched: dict[int, list[str]] = {}  # by size, which falls with each step

    def size_with(keywords: dict) -> int:
        if time.monotonic() > until:
            raise TimeoutError
        size, digests = _size_with(keywords)
        launched[size] = sorted(digests.intersection(code))
        if not launched[size]:
            raise LookupError("other code")
        return size

    before = {**case_sizes.default_sizes(kernel), **given}
    try:
        after = shrinking.shrink(before, size_with, limit)
    except Exception:  # of the case itself, which has gone well before
        after = None
    recorder.compiling = 0
    if after is None:
        return {}
    changed = {name: value for name, value in after.items() if value != before[name]}
    return {"changes": changed, "code": launched[min(launched)]}


def _size_with(keywords: dict) -> tuple[int, set[str]]:
    """What a case costs to simulate, bytes of inputs and two for each thread, and the digests of what it launches."""
    from .. import values
    from ..compiled import ptx

    recorder, kernel = STATE["recorder"], STATE["kernel"]
    recorder.launches = []
    inputs = kernel.get_inputs(**keywords)
    size = values.reached_bytes(inputs)
    kernel.kernel_fn(*inputs)
    threads = sum(math.prod(launch.grid) * math.prod(launch.block) for launch in recorder.launches)
    images = {launch.image for launch in recorder.launches}
    texts = {compiled.ptx for compiled in recorder.compiled if compiled.ptx and compiled.cubin in images}
    return size + 2 * threads, set(map(ptx.digest, texts))


HANDLERS = {"start": start, "run": run, "smaller": smaller}


def _tensors(inputs) -> list[dict]:
    import torch

    return [
        {
            "input": i,
            "shape": list(x.shape),
            "strides": list(x.stride()),
            "itemsize": x.itemsize,
            "dtype": str(x.dtype)[6:],
            "address": x.data_ptr(),
            "bytes": x.untyped_storage().nbytes() - x.storage_offset() * x.itemsize,
        }
        for i, x in enumerate(inputs)
        if isinstance(x, torch.Tensor) and x.layout is torch.strided
    ]


def _kept(compiled) -> dict:
    name = hashlib.sha256(compiled.cubin or (compiled.ptx or "").encode()).hexdigest()[:24]
    if compiled.ptx:
        (STATE["folder"] / f"{name}.ptx").write_text(compiled.ptx)
    if compiled.cubin:
        (STATE["folder"] / f"{name}.cubin").write_bytes(compiled.cubin)
    return {
        "id": name,
        "language": compiled.language,
        "function": compiled.function,
        "ptx": bool(compiled.ptx),
        "cubin": bool(compiled.cubin),
    }


def _launched(launch, tensors: list[dict]) -> dict:
    """A launch as JSON. pointers: where a parameter holds an address inside an input, and how far inside (bytes)."""
    pointers = []
    for index, value in enumerate(launch.parameters):
        for offset in range(0, len(value) - 7, 8):
            word = int.from_bytes(value[offset : offset + 8], "little")
            pointers += [
                {"parameter": index, "offset": offset, "input": t["input"], "byte": word - t["address"]}
                for t in tensors
                if t["address"] <= word < t["address"] + max(t["bytes"], 1)
            ]
    return {
        "kernel": launch.kernel,
        "grid": launch.grid,
        "block": launch.block,
        "cluster": launch.cluster,
        "dynamic_shared_bytes": launch.dynamic_shared_bytes,
        "parameters": [v.hex() for v in launch.parameters],
        "pointers": pointers,
        "id": hashlib.sha256(launch.image).hexdigest()[:24] if launch.image else None,
    }


def _problem(error: BaseException, stage: str, kernel) -> dict:
    from ..api import compile_errors

    frames = traceback.extract_tb(error.__traceback__)
    text = compile_errors.plain(str(error)).strip()
    return {
        "stage": "compile" if compile_errors.is_compiling(error) else stage,
        "type": type(error).__name__,
        "message": text or type(error).__name__,
        "detail": "".join(traceback.format_list([f for f in frames if _is_author(f, kernel.path)])).rstrip(),
    }


def _is_author(frame: traceback.FrameSummary, path: Path) -> bool:
    return frame.filename.startswith(f"{path.parent}/") and "/site-packages/" not in frame.filename
