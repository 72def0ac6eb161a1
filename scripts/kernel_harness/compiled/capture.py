"""Compile any kernel file without a GPU: run it on a stand-in and keep the PTX, cubins and launches.

A file needs no export for this. In a child process with a time limit, CUDA tensors are made on the CPU, the CuTe DSL
and Triton compilers are listened to, and each launch is recorded instead of executed (stand_in.py says how).
"""

from __future__ import annotations

import ast
import os
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from .. import contract
from ..api import compile_errors
from ..cli import no_such_case
from ..processes.worker import Worker, WorkerError, WorkerTimeout, kill_tree
from ..verdict import ExitCode

EXTENSION_TIME = 5  # times as long as other files may take: nvcc and g++ read all of PyTorch's headers
FIRST = object()  # in place of case names: the file's first case alone


class CaptureError(Exception):
    """The file could not be compiled here. code: the exit code that it means; detail: the author's traceback."""

    def __init__(self, message: str, code: ExitCode, detail: str = ""):
        super().__init__(message)
        self.code, self.detail = code, detail


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel in one case, as the compiled host code asked for it.

    parameters: the bytes of each kernel parameter in order. pointers: dicts of ``parameter``, ``offset`` (bytes into
    it), ``input`` (index of the tensor in get_inputs()'s list) and ``byte`` (how far into the tensor the address is).
    """

    case: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    dynamic_shared_bytes: int
    parameters: tuple[bytes, ...]
    pointers: tuple[dict, ...]


@dataclass
class CompiledKernel:
    """One device function that a file compiled for ``arch``; ``ptx`` or ``cubin`` is None when it was not kept.

    tensors: {case: [{"input", "shape", "strides", "itemsize", "dtype", "address", "bytes"}]}, the inputs of each case.
    """

    name: str
    arch: str
    language: str
    function: str
    ptx: str | None
    cubin: bytes | None
    cases: list[str] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    tensors: dict[str, list[dict]] = field(default_factory=dict)


@dataclass
class Captured:
    """What one arch gave.

    cases: those that ran; first_case: the file's, run or not; problems: errors of single cases, after which the others
    still ran.
    """

    arch: str
    kernels: list[CompiledKernel]
    problems: list[CaptureError]
    cases: list[str]
    first_case: str
    archs: tuple[str, ...]
    expect: dict
    sha256: str


def compile_file(
    path: str | Path, arches: Sequence[str] = (), cases=None, timeout: float = 120.0
) -> list[CompiledKernel]:
    """Every kernel that the file compiles for ``arches`` (its own ARCHS by default) in ``cases`` (all by default).

    ``cases`` is a sequence of names of TEST_CASES or BENCH_CASES, FIRST or None (TEST_CASES); ``timeout`` is in
    seconds, a case. Raises ContractError, or CaptureError for the first case that does not compile.
    """
    kernels = []
    for captured in capture(path, arches, cases, timeout):
        if captured.problems:
            raise captured.problems[0]
        kernels += captured.kernels
    return kernels


def capture(
    path: str | Path, arches: Sequence[str] = (), cases=None, timeout: float = 120.0, progress=lambda text: None
):
    """Yield a Captured for each arch. Raises ContractError, UsageError and CaptureError."""
    path = Path(path).expanduser().absolute()
    _, tree = contract.read_source(path)
    wanted, done = tuple(arches) or _literal_archs(tree), {}
    usual = contract.DEFAULT_ARCHS[0]
    if contract.builds_extension(path):
        usual, timeout = contract.EXTENSION_ARCHS[0], EXTENSION_TIME * timeout
    if not wanted:  # ARCHS is computed or absent: the first run tells
        first = _capture(path, usual, cases, timeout)
        wanted, done = first.archs, {first.arch: first}
    children: list[Worker] = []
    stopped = threading.Event()

    def started(child: Worker) -> None:
        children.append(child)
        if stopped.is_set():
            kill_tree(child.process.pid)

    with ThreadPoolExecutor(min(len(wanted), len(os.sched_getaffinity(0)), 4)) as pool:
        left = [arch for arch in wanted if arch not in done]
        running = {arch: pool.submit(_capture, path, arch, cases, timeout, started) for arch in left}
        try:
            for arch in wanted:
                progress(f"{path.name} for {arch}")
                yield done[arch] if arch in done else running[arch].result()
        finally:  # after Ctrl-C or an error the pool would wait for compilations that nobody wants any more
            for future in running.values():
                future.cancel()
            stopped.set()
            for child in [child for child in children if child.alive]:
                kill_tree(child.process.pid)


def smaller(path: Path, arch: str, code: dict[str, set[str]], limit: int, timeout: float, seconds: float) -> dict:
    """{case: changes of its keywords} that make the cases of ``code`` cheap to simulate (capture_child.smaller) and let
    them launch what they launched: code of those digests, each of which is sought once.

    timeout: seconds that a call may take; seconds: that are given to each case. Raises CaptureError and ContractError.
    """
    found, covered = {}, set()
    with (
        tempfile.TemporaryDirectory(prefix="kernel-capture-") as folder,
        Worker("capture_child", Path(folder)) as child,
    ):
        where = f"{path.name} ({arch})"
        described = _ask(child, where, timeout, "start", path=str(path), arch=arch, dump=folder)
        if "contract" in described:
            raise contract.ContractError(described["contract"], described["detail"])
        for case, digests in code.items():
            if wanted := sorted(digests - covered):
                asked = {"case": case, "code": wanted, "limit": limit, "seconds": seconds}
                answer = _ask(child, f"{where}, case {case}", timeout + seconds, "smaller", **asked)
                covered.update(answer.get("code", ()))
                if answer:
                    found[case] = answer["changes"]
    return found


def _capture(path: Path, arch: str, cases, timeout: float, started=lambda child: None) -> Captured:
    with (
        tempfile.TemporaryDirectory(prefix="kernel-capture-") as folder,
        Worker("capture_child", Path(folder)) as child,
    ):
        started(child)
        described = _ask(child, f"{path.name} ({arch})", timeout, "start", path=str(path), arch=arch, dump=folder)
        if "contract" in described:
            raise contract.ContractError(described["contract"], described["detail"])
        chosen = described["cases"][:1] if cases is FIRST else list(cases or described["cases"])
        known = list(dict.fromkeys(described["cases"] + described["bench_cases"]))
        unknown = [case for case in chosen if case not in known]
        if unknown:
            raise no_such_case(unknown[0], path, known)
        kernels: dict[str, list[CompiledKernel]] = {}
        problems = []
        for case in chosen:
            answer = _ask(child, f"{path.name} ({arch}, case {case})", timeout, "run", case=case)
            for compiled in answer["compiled"]:
                kernels.setdefault(compiled["id"], _read(compiled, arch, Path(folder)))
            _attach(answer, case, kernels)
            if answer["problem"]:
                problems.append(_error(answer["problem"], path, arch, case))
        found = [kernel for group in kernels.values() for kernel in group]
        return Captured(
            arch, found, problems, chosen, described["cases"][0], tuple(described["archs"]), described["expect"],
            described["sha256"],
        )


def _ask(child: Worker, where: str, timeout: float, op: str, **arguments) -> dict:
    try:
        return child.call(op, timeout, **arguments)
    except WorkerTimeout as error:
        raise CaptureError(
            f"{where}: no answer within {timeout:g} s; raise --timeout, or make the kernel smaller: long compile "
            "times mostly come from unrolled loops",
            ExitCode.CRASH,
            error.log,
        ) from None
    except WorkerError as error:
        raise CaptureError(f"{where}: the compiling process failed: {error}", ExitCode.CRASH, error.log) from None


def _read(compiled: dict, arch: str, folder: Path) -> list[CompiledKernel]:
    """The entry points of one compilation."""
    from . import cubin, ptx

    text = (folder / f"{compiled['id']}.ptx").read_text() if compiled["ptx"] else None
    image = (folder / f"{compiled['id']}.cubin").read_bytes() if compiled["cubin"] else None
    names = list(ptx.parse(text)) if text else list(cubin.read(image)) if image else []
    return [CompiledKernel(name, arch, compiled["language"], compiled["function"], text, image) for name in names]


def _attach(answer: dict, case: str, kernels: dict[str, list[CompiledKernel]]) -> None:
    """Give each launch to the kernel that it launched, and each kernel the cases that use it."""
    for launch in answer["launches"]:
        for kernel in [k for k in kernels.get(launch["id"], ()) if k.name == launch["kernel"]]:
            kernel.launches.append(
                Launch(
                    case,
                    tuple(launch["grid"]),
                    tuple(launch["block"]),
                    tuple(launch["cluster"]),
                    launch["dynamic_shared_bytes"],
                    tuple(bytes.fromhex(value) for value in launch["parameters"]),
                    tuple(launch["pointers"]),
                )
            )
            kernel.tensors[case] = answer["tensors"]
    used = {compiled["id"] for compiled in answer["compiled"]}
    for identity, group in kernels.items():
        for kernel in group:
            if case not in kernel.cases and (identity in used or case in kernel.tensors):
                kernel.cases.append(case)


def _error(problem: dict, path: Path, arch: str, case: str) -> CaptureError:
    where = f"{path.name} ({arch}, case {case})"
    first, *rest = problem["message"].splitlines()
    if problem["type"] == "HostCodeError":
        return CaptureError(f"{path.name} ({arch}, case {case}): {first}", ExitCode.UNDECIDED)
    detail = "\n".join([problem["detail"], *rest]).strip("\n")
    if problem["stage"] == "compile":
        advice = compile_errors.advice(problem["message"])
        said = f"{where} does not compile: {problem['type']}: {first.strip()}{f'. {advice}' if advice else ''}"
        return CaptureError(said, ExitCode.COMPILE_ERROR, detail)
    refuses = "If it refuses these inputs, leave the case out. " if problem["type"] == "ValueError" else ""
    return CaptureError(
        f"{where}: {problem['stage']} raised {problem['type']}: {first.strip()}. {refuses}It ran on CPU memory that "
        "claims to be on cuda:0, with results that were never computed: where it looked at values, run it where there "
        "is a GPU, or let it reach its launches without",
        ExitCode.UNDECIDED,
        detail,
    )


def _literal_archs(tree: ast.Module) -> tuple[str, ...]:
    """ARCHS where the file spells it out, so that it need not be loaded to know them; () where that is no such list."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "ARCHS" for t in node.targets):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                return ()
            value = (value,) if isinstance(value, str) else value
            return tuple(value) if isinstance(value, (list, tuple)) and set(map(type, value)) == {str} else ()
    return ()
