"""The kernel-file contract: load a file and say in one sentence what is wrong with it (standard library only).

A kernel file exports ``kernel_fn(*inputs)``, ``reference_fn(*inputs)`` and ``get_inputs(**case) -> list``; the optional
names are the attributes of :class:`KernelFile`. references/kernel-file.md is the manual.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.machinery
import importlib.util
import inspect
import json
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from .api import compile_errors

REQUIRED = ("kernel_fn", "reference_fn", "get_inputs")
KNOWN_ARCHS = (
    "sm_80",
    "sm_86",
    "sm_87",
    "sm_89",
    "sm_90",
    "sm_90a",
    "sm_100",
    "sm_100a",
    "sm_100f",
    "sm_103",
    "sm_103a",
    "sm_103f",
    "sm_110",
    "sm_110a",
    "sm_110f",
    "sm_120",
    "sm_120a",
    "sm_120f",
    "sm_121",
    "sm_121a",
)
DEFAULT_ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXTENSION_ARCHS = ("sm_90a",)  # a C++ extension takes a minute to build, and is built for one GPU by those who use it


class ContractError(Exception):
    """The kernel file breaks the contract. ``str(error)`` is one sentence; ``detail`` the author's traceback."""

    def __init__(self, message: str, detail: str = ""):
        super().__init__(message)
        self.detail = detail


@dataclass(frozen=True)
class KernelFile:
    """A loaded kernel file.

    cases: ``{name: keyword arguments of get_inputs}`` for verification, ``bench_cases`` for timing; both hold
    ``default`` (no keywords) unless get_inputs has parameters without a default. archs: compile targets such as
    ``("sm_90a",)``. tolerance: ``{"rtol": float, "atol": float}`` or None. mutates: indices of the inputs that
    kernel_fn changes. expect: ``{arch: {fact: rule}}``.
    """

    path: Path
    sha256: str
    module: ModuleType
    kernel_fn: Callable
    reference_fn: Callable
    get_inputs: Callable
    cases: Mapping[str, Mapping]
    bench_cases: Mapping[str, Mapping]
    archs: tuple[str, ...]
    tolerance: Mapping[str, float] | None
    mutates: frozenset[int]
    expect: Mapping[str, Mapping]
    flops: Callable | None
    bytes_moved: Callable | None
    tuning_space: Mapping | None

    @property
    def all_cases(self) -> dict[str, Mapping]:
        """Those of BENCH_CASES, and what TEST_CASES name beside them."""
        return {**self.cases, **self.bench_cases}


def read_source(path: Path) -> tuple[str, ast.Module]:
    """The text and syntax tree of a kernel file; ContractError when it is no readable Python file."""
    try:
        exists = path.exists()
    except OSError as error:  # a name that is too long, for one
        raise ContractError(f"{path} cannot be read: {error.strerror}") from None
    if not exists:
        near = _near_miss(path)
        raise ContractError(f"{path}: no such file{near}")
    if path.is_dir():
        inside = sorted(p.name for p in path.glob("*.py"))[:5]
        offer = f"; name a file in it, for example {path / inside[0]}" if inside else ""
        raise ContractError(f"{path} is a folder, not a kernel file{offer}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ContractError(f"{path} cannot be read: {error.strerror}") from None
    try:
        text = importlib.util.decode_source(data)
    except (UnicodeDecodeError, SyntaxError):
        raise ContractError(f"{path} is not Python source: it does not decode as text") from None
    if path.suffix not in (".py", ""):
        raise ContractError(f"{path} is not a Python file: a kernel file ends in .py and defines {_names(REQUIRED)}")
    try:
        return text, ast.parse(text, filename=str(path))
    except SyntaxError as error:
        if error.lineno is None:
            raise ContractError(f"{path} is not Python source: {error.msg}") from None
        line = (error.text or "").rstrip("\n")
        caret = " " * max((error.offset or 1) - 1, 0) + "^"
        raise ContractError(f"{path}:{error.lineno}: syntax error: {error.msg}", f"{line}\n{caret}") from None
    except (ValueError, MemoryError, RecursionError) as error:  # the last two: nested deeper than the parser goes
        raise ContractError(f"{path} is not Python source: {error or type(error).__name__}") from None


def module_name(stem: str) -> str:
    """Of a kernel file. It becomes a part of its kernels' names, in which NVVM takes ASCII letters and digits only."""
    return f"kernel_file_{re.sub('[^A-Za-z0-9_]', '_', stem)}"


def load_kernel(path: str | Path) -> KernelFile:
    """Import the file at ``path`` as a real module and check its names.

    The DSL reads kernel source through the file, so the module is loaded by path, is in ``sys.modules`` before it runs
    (dataclasses and pickling look there), and has its own folder on ``sys.path`` while it is imported. Raises
    ContractError; whatever else the file raises on import comes back as one, with the author's frames.
    """
    path = Path(path).expanduser().absolute()
    text, _ = read_source(path)
    name = module_name(path.stem)
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, str(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _folder_on_path(path.parent):
            spec.loader.exec_module(module)
    except ContractError:
        raise
    except SystemExit as error:
        raise ContractError(
            f"{path} exits while it is imported (SystemExit {error.code!r}): guard the main part with "
            'if __name__ == "__main__":'
        ) from None
    except BaseException as error:
        advice = compile_errors.advice(str(error))
        said = f"{path} fails on import: {_one_line(error)}{f'. {advice}' if advice else ''}"
        raise ContractError(said, author_traceback(error, path)) from None
    return _checked(path, hashlib.sha256(text.encode()).hexdigest(), module)


def _checked(path: Path, sha256: str, module: ModuleType) -> KernelFile:
    missing = [name for name in REQUIRED if not hasattr(module, name)]
    if missing:
        raise ContractError(f"{path} does not define {_names(missing)}: a kernel file exports {_names(REQUIRED)}")
    for name in (*REQUIRED, "flops", "bytes_moved"):
        value = getattr(module, name, None)
        if (name in REQUIRED and not callable(value)) or (value is not None and not callable(value)):
            raise ContractError(f"{path}: {name} is a {type(value).__name__}, not a function")
    cases = _cases(path, module, "TEST_CASES")
    bench_cases = _cases(path, module, "BENCH_CASES") if hasattr(module, "BENCH_CASES") else cases
    return KernelFile(
        path=path,
        sha256=sha256,
        module=module,
        kernel_fn=module.kernel_fn,
        reference_fn=module.reference_fn,
        get_inputs=module.get_inputs,
        cases=cases,
        bench_cases=bench_cases,
        archs=_archs(path, module),
        tolerance=_tolerance(path, module),
        mutates=_mutates(path, module),
        expect=_mapping(path, module, "EXPECT", "{arch: {fact: rule}}"),
        flops=getattr(module, "flops", None),
        bytes_moved=getattr(module, "bytes_moved", None),
        tuning_space=_tuning_space(path, module),
    )


def _cases(path: Path, module: ModuleType, name: str) -> dict[str, dict]:
    cases = _mapping(path, module, name, "{case name: {keyword arguments of get_inputs}}")
    try:
        parameters = inspect.signature(module.get_inputs).parameters.values()
    except (TypeError, ValueError):
        return {"default": {}, **cases}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    required = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    for case, keywords in cases.items():
        if not isinstance(case, str) or not isinstance(keywords, Mapping):
            raise ContractError(f"{path}: {name}[{case!r}] must map a case name to a dict of keyword arguments")
        unknown = [str(key) for key in keywords if key not in named]
        if unknown and not takes_any:
            takes = f"it takes {_names(named)}" if named else "it takes no arguments"
            raise ContractError(
                f"{path}: {name}[{case!r}] passes {_names(unknown)}, which get_inputs does not take; {takes}"
            )
        lacking = [key for key in required if key not in keywords]
        if lacking:
            raise ContractError(f"{path}: {name}[{case!r}] lacks {_names(lacking)}, which get_inputs requires")
    if required:
        if not cases:
            raise ContractError(f"{path}: get_inputs() must work without arguments; give {_names(required)} a default")
        return {case: dict(keywords) for case, keywords in cases.items()}
    return {"default": {}} | {case: dict(keywords) for case, keywords in cases.items()}


def _tuning_space(path: Path, module: ModuleType) -> dict[str, list]:
    space = _mapping(path, module, "TUNING_SPACE", "{keyword of kernel_fn: [values to try]}")
    parameters = inspect.signature(module.kernel_fn).parameters.values() if space else ()
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name, choices in space.items():
        if name not in named and not takes_any:
            raise ContractError(f"{path}: TUNING_SPACE names {name}, which kernel_fn does not take; it takes "
                                f"{_names(named)}")
        if not isinstance(choices, (list, tuple)) or not choices:
            raise ContractError(f"{path}: TUNING_SPACE[{name!r}] must be a list of values to try, not {choices!r}")
        try:
            json.dumps(choices)
        except (TypeError, ValueError):
            raise ContractError(f"{path}: TUNING_SPACE[{name!r}] must consist of numbers, text, True, False, None and "
                                "lists of these: name any other value and look it up in kernel_fn") from None
    return {name: list(choices) for name, choices in space.items()}


def configured(function: Callable, config: Mapping, inputs: int) -> Callable:
    """``function(*inputs)`` with the keywords of a configuration, which replace those that a case passes itself.
    inputs: how many it passes."""
    placeable = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)  # not those of *inputs
    names = [p.name for p in inspect.signature(function).parameters.values() if p.kind in placeable][:inputs]
    if config.keys().isdisjoint(names):
        return functools.partial(function, **config)

    def call(*given):
        placed = [config.get(name, value) for name, value in zip(names, given, strict=False)]
        return function(*placed, *given[len(names) :], **{k: v for k, v in config.items() if k not in names})

    return call


def _archs(path: Path, module: ModuleType) -> tuple[str, ...]:
    archs = getattr(module, "ARCHS", EXTENSION_ARCHS if builds_extension(path) else DEFAULT_ARCHS)
    try:
        archs = (archs,) if isinstance(archs, str) else tuple(archs)
    except TypeError:
        archs = ()
    if not archs:
        raise ContractError(f"{path}: ARCHS must name compile targets, for example ('sm_90a',), or be left out")
    return check_archs(archs, f"{path}: ARCHS")


def builds_extension(path: Path) -> bool:
    """Does the file at ``path`` use torch.utils.cpp_extension?"""
    return "cpp_extension" in read_source(path)[0]


def check_archs(archs, where: str) -> tuple[str, ...]:
    """``archs`` as a tuple; ContractError that names the known ones for a name such as ``h100`` or ``90``."""
    for arch in archs:
        if arch not in KNOWN_ARCHS:
            raise ContractError(f"{where}: {arch!r} is no compile target; known are {', '.join(KNOWN_ARCHS)}")
    return tuple(archs)


def _tolerance(path: Path, module: ModuleType) -> dict[str, float] | None:
    tolerance = getattr(module, "TOLERANCE", None)
    if tolerance is None:
        return None
    valid = (
        isinstance(tolerance, Mapping)
        and tolerance
        and set(tolerance) <= {"rtol", "atol"}
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) and v >= 0 for v in tolerance.values())
    )
    if not valid:
        raise ContractError(f'{path}: TOLERANCE must be {{"rtol": number, "atol": number}}, got {tolerance!r}')
    return {"rtol": float(tolerance.get("rtol", 0.0)), "atol": float(tolerance.get("atol", 0.0))}


def _mutates(path: Path, module: ModuleType) -> frozenset[int]:
    """Indices of get_inputs()'s list; MUTATES may also hold names of kernel_fn's parameters."""
    mutates = getattr(module, "MUTATES", ())
    names = []
    with contextlib.suppress(TypeError, ValueError):  # a kernel_fn without a signature has no names
        names = list(inspect.signature(module.kernel_fn).parameters)
    if not isinstance(mutates, (list, tuple, set, frozenset)) or not all(
        i in names if isinstance(i, str) else type(i) is int and i >= 0 for i in mutates
    ):
        known = "indices of get_inputs()'s list or names of kernel_fn's parameters"
        raise ContractError(f"{path}: MUTATES must hold {known}, got {mutates!r}")
    return frozenset(names.index(i) if isinstance(i, str) else i for i in mutates)


def _mapping(path: Path, module: ModuleType, name: str, form: str) -> dict:
    value = getattr(module, name, {})
    if not isinstance(value, Mapping):
        raise ContractError(f"{path}: {name} must be a dict {form}, got {type(value).__name__}")
    return dict(value)


def author_traceback(error: BaseException, path: Path) -> str:
    """The traceback of ``error`` from the first frame in the author's folder on; harness and loader frames are cut."""
    frames = traceback.extract_tb(error.__traceback__)
    folder = str(path.parent)
    start = next((i for i, frame in enumerate(frames) if frame.filename.startswith(folder + "/")), len(frames))
    lines = traceback.format_list(frames[start:])[-12:]
    return "".join([*lines, *traceback.format_exception_only(type(error), error)]).rstrip()


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def _names(names) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"


def _near_miss(path: Path) -> str:
    import difflib

    try:
        siblings = [p.name for p in path.parent.iterdir() if p.suffix == ".py"]
    except OSError:
        return f" (nor is there a folder {path.parent})"
    match = difflib.get_close_matches(path.name, siblings, 1)
    return f"; did you mean {path.parent / match[0]}?" if match else ""


@contextlib.contextmanager
def _folder_on_path(folder: Path):
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))
