"""Which code a call runs: the author's functions, whose result is returned, native extensions, DSL launches."""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType

DSL_FILES = ("/nvidia_cutlass_dsl/", "/triton/runtime/jit.py", "/triton/runtime/autotuner.py", "/cuda/tile/")
DSL_PACKAGES = ("/nvidia_cutlass_dsl/", "/triton/", "/cuda/tile/", "/tvm_ffi/", functools.__file__)  # they use it
NATIVE_IGNORED = ("torch", "numpy", "_")
MOST_LOOKED_AT, MOST_SUMMED = 64, 1 << 22  # calls of the author's functions; elements
MOST_NUMBERS, FEWEST_NUMBERS = 1 << 16, 8  # in lists that such a function is handed
_NAMING = {*dis.hasname, *dis.haslocal, *dis.hasconst, *dis.hasfree}
_OPERATORS = ("BINARY_", "COMPARE_")
_SUMS = (lambda t: t.sum(), lambda t: t.abs().sum(), lambda t: t.abs().square().sum())
LIBRARIES = {*sys.stdlib_module_names, "triton", "cutlass", "nvidia_cutlass_dsl", "cuda"}   # nobody's own native code


def trace_call(function: Callable, arguments: list, path: Path) -> tuple[object, dict]:
    """Call ``function(*arguments)``; returns (result, facts).

    facts: ``returns`` the author's functions (``name:line``) whose return value is the result itself, ``given`` those
    of them that were handed nothing but (copies of) the arguments: they made it all; ``native`` the extension modules
    outside torch that were called; ``operators`` the namespaces of what was called through torch.ops; ``dsl`` the
    kernel language that was launched, or None. Kernels that PyTorch launches itself (torch._native, inductor) are
    PyTorch's. ``bodies`` are digests of the code of those in ``returns``, ``compiled`` of each function that was called
    and is in no file: what was compiled from a string.
    """
    file = str(path)
    torch_folder = str(Path(sys.modules["torch"].__file__).parent) + os.sep if "torch" in sys.modules else "\0"
    returned: list[tuple[CodeType, object, bool]] = []
    inputs, known = _tensors_in(arguments), {0, 1, -1, *_numbers_in(arguments)}
    given: dict[object, bool] = {}  # frame -> was it handed nothing but inputs?
    compiled: set[CodeType] = set()
    native: set[str] = set()
    operators: set[str] = set()
    dsl: list[str] = []

    def watch(frame, event, argument):
        if event == "return" and frame.f_code.co_filename == file:  # one that was not looked at counts as given
            returned.append((frame.f_code, argument, given.pop(frame, True)))
        elif event == "call":
            name = frame.f_code.co_filename
            if name == file and len(returned) < MOST_LOOKED_AT:
                handed, numbers = _tensors_in(frame.f_locals.values()), _numbers_in(frame.f_locals.values())
                telling = [t for t in handed if t.numel()]
                is_told = bool(telling) if handed else known.issuperset(numbers)
                is_told = is_told and all(any(_has_values_of(t, one) for one in inputs) for t in telling)
                is_told = is_told and sum(t.numel() for t in telling or inputs) >= FEWEST_NUMBERS  # else it is chance
                given[frame] = is_told and not _are_computed(numbers, inputs)
            elif name == torch_folder + "_ops.py" and frame.f_code.co_name == "__call__":
                operators.add(str(frame.f_locals.get("self")).partition(".")[0])
            if name != file and not _is_in_a_file(name):
                compiled.add(frame.f_code)
            if not dsl and any(part in name for part in DSL_FILES) and _is_launched(frame, torch_folder):
                dsl.append("Triton" if "/triton/" in name else "CuTe DSL")
        elif event == "c_call":
            module = _module_of(argument)
            if module.startswith("tvm_ffi"):
                if not dsl and _is_launched(frame, torch_folder):
                    dsl.append("TVM FFI")
            elif not module.startswith(NATIVE_IGNORED) and module.partition(".")[0] not in LIBRARIES:
                native.add(module)

    previous = sys.getprofile()
    sys.setprofile(watch)
    try:
        result = function(*arguments)
    finally:
        sys.setprofile(previous)
    codes = {code for code, value, _ in returned if value is result and value is not None}
    alone = {code for code, value, is_given in returned if code in codes and value is result and is_given}
    return result, {
        "returns": sorted(f"{code.co_name}:{code.co_firstlineno}" for code in codes),
        "given": sorted(f"{code.co_name}:{code.co_firstlineno}" for code in alone),
        "bodies": sorted(map(_digest, codes)),
        "compiled": sorted(map(_digest, compiled)),
        "native": sorted(native),
        "operators": sorted(operators),
        "dsl": dsl[0] if dsl else None,
    }


def registered_by(tree: ast.Module, operators: Iterable[str]) -> list[str]:
    """Those namespaces of operators that a string of the file names, and no imported module does: it registers them."""
    strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [name for name in operators if name not in sys.modules and any(name in text for text in strings)]


def _tensors_in(values: Iterable) -> list:
    torch, found, left = sys.modules.get("torch"), [], list(values)
    while left and torch:
        value = left.pop()
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple, dict)):
            left.extend(value.values() if isinstance(value, dict) else value)
    return found


def _numbers_in(values: Iterable) -> list:
    """Those in (nested) lists, tuples and dicts, and the values themselves."""
    found, left = [], list(values)
    while left and len(found) < MOST_NUMBERS:
        value = left.pop()
        if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
            found.append(value)
        elif isinstance(value, (list, tuple, dict)):
            left.extend(value.values() if isinstance(value, dict) else value)
    return found


def _are_computed(numbers: list, inputs: list) -> bool:
    """Do so many numbers, not all alike, say something beside inputs? Those of an input, in any order, do not."""
    if len(numbers) < FEWEST_NUMBERS or len(set(numbers)) < 2:
        return False
    made = sys.modules["torch"].tensor(numbers)
    return not any(_has_values_of(made, one) for one in inputs)


def _has_values_of(tensor, other) -> bool:
    """Is ``tensor`` the ``other`` one, a view of it, or, as sums tell, a copy, cast or permutation of all of it?"""
    try:
        if tensor.untyped_storage().data_ptr() == other.untyped_storage().data_ptr():
            return True
        if tensor.numel() != other.numel() or tensor.numel() > MOST_SUMMED:
            return False
        torch = sys.modules["torch"]
        one, two = (t.detach().to(torch.complex128) for t in (tensor, other.to(tensor.dtype)))
        return all(torch.allclose(f(one), f(two), rtol=1e-10, atol=0.0, equal_nan=True) for f in _SUMS)
    except (RuntimeError, NotImplementedError):  # no memory of its own, as under torch.vmap; sparse
        return False


@functools.cache
def _is_in_a_file(name: str) -> bool:
    return name.startswith("<frozen ") or os.path.isfile(name)


def _digest(code: CodeType) -> str:
    """Of what a function does, whatever its name and place."""
    return hashlib.sha256(repr(_body(code)).encode()).hexdigest()[:16]


def _body(code: CodeType) -> tuple:
    """The names, variables and constants in the order of their use, and the operators between them. How an attribute is
    called depends on whether the compiler has seen the import of the module."""
    used = []
    for step in dis.get_instructions(code):
        if step.opcode in _NAMING:
            used.append(_body(step.argval) if isinstance(step.argval, CodeType) else repr(step.argval))
        elif step.opname.startswith(_OPERATORS):
            used.append(f"{step.opname} {step.argval}")
    return tuple(used)


def _module_of(function) -> str:
    """The module that defines a C function; for a method without one, that of the class which defines it: list's
    append is Python's own on an instance of a subclass, too (SymPy, which autograd imports late, has such classes)."""
    owners = type(getattr(function, "__self__", None)).__mro__
    defining = (kind for kind in owners if function.__name__ in vars(kind))
    return getattr(function, "__module__", None) or next(defining, owners[0]).__module__ or ""


def _is_launched(frame, torch_folder: str) -> bool:
    """Is the nearest caller outside the kernel languages' own packages neither PyTorch nor an import of them?"""
    while frame is not None and any(part in frame.f_code.co_filename for part in DSL_PACKAGES):
        frame = frame.f_back
    return frame is None or not frame.f_code.co_filename.startswith((torch_folder, "<frozen importlib"))
