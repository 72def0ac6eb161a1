"""Worker: makes inputs and runs reference_fn. It never runs kernel_fn.

The reference runs as the file wrote it (``native``), once more with every floating input in float64 (``golden``), and
once more on inputs that moved by one float32 rounding (``moved``, see compare.py).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import torch

from .. import simulation, values
from ..comparison.choices import Choices, is_hidden
from ..comparison.roundings import Exactness, PinnedRoundings, Roundings
from ..contract import ContractError, KernelFile, author_traceback, load_kernel, read_source
from ..inputs import case_sizes, vast
from ..inputs import rare_draws as rare
from ..inputs.seeding import reseeded
from ..inputs.symbols import symbols_elsewhere
from ..observation import integrity
from ..observation.tracing import registered_by, trace_call
from ..outputs import aliases, gradients
from ..processes import bytecode

GOLDEN_LIMIT_BYTES = 2 * 2**30  # of float64 copies; a larger case is judged against the native reference alone
CACHE_LIMIT_BYTES = 2**30  # of GPU memory that stays with this process between references
DRAWS = 3  # runs with moved intermediate values
TIED_BITS, SPREADING = 20, 0x1E3779B97F4A7C15  # equal values find the same of 2^20 chances
TIPPED_DRAWS, TIPPED_UNIT = 32, 2.0**-21  # one side may come in one of six; a long sum errs by several roundings
FLOAT32_ROUNDING, FLOAT64_ROUNDING = 2.0**-24, 2.0**-52  # half and one spacing: below that nothing moves

_file: KernelFile | None = None
_reference: KernelFile | None = None
_snapshot: integrity.Snapshot | None = None
_pretending = contextlib.nullcontext
_backward = ""  # does a request want the gradients of the inputs in place of the result?
_known_operators = frozenset(name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names())  # PyTorch's
_symbols: dict[tuple[str, bool], frozenset] = {}  # of a case, which of its tensors are symbols in others


def load(path: str, reference: str | None = None, simulate: dict | None = None) -> dict:
    """Import the kernel file (and the file that ``--reference`` names) and report what it declares.

    simulate: arguments of simulation.contexts, for whose sake CPU tensors claim to be on a GPU; nothing that the
    reference does is simulated.
    """
    global _file, _reference, _snapshot, _pretending
    if simulate:
        _pretending = simulation.contexts(**simulate)
    else:
        simulation.refuse_extensions()
    paths = [Path(path), *([Path(reference)] if reference else [])]
    _snapshot = integrity.Snapshot(tuple(p for p in paths if p.is_file()))
    try:
        with _pretending():
            _file = load_kernel(path)
            _reference = load_kernel(reference) if reference else _file
    except ContractError as error:
        kind = "needs_gpu" if not simulate and _asks_for_gpu(error.__context__) else "contract"
        return {kind: str(error), "detail": error.detail}
    for loaded in (_file, _reference):
        loaded.module.kernel_fn = _forbidden_kernel
    # Precision flags that the file sets on import must not make its reference sloppier.
    integrity.strict_numerics()
    return {
        "sha256": _file.sha256,
        "cases": list(_file.cases),
        "bench_cases": list(_file.bench_cases),
        "archs": list(_file.archs),
        "tuning_space": {name: list(choices) for name, choices in (_file.tuning_space or {}).items()},
        "tolerance": _file.tolerance,
        "mutates": sorted(_file.mutates),
        "replaced": _snapshot.replaced_functions(),
        "changed_files": _snapshot.changed_files(),
        "doc": (_file.module.__doc__ or "").strip().split("\n")[0],
    }


def inputs(case: str, seed: int, file: str, bench: bool = False) -> dict:
    """Call get_inputs for a case (``bench``: of BENCH_CASES first) under ``seed`` and lay the list out in ``file``."""
    try:
        made = _drawn((_file.all_cases if bench else _file.cases)[case], seed)
    except BaseException as error:
        return _failure("get_inputs", error)
    problem = _inputs_problem(made, not bench and not _file.cases[case])
    if problem:
        return {"contract": problem}
    try:
        bundle = values.save(list(made), Path(file))
    except values.UnsupportedValue as error:
        return {"contract": f"get_inputs returns {error}"}
    if (case, bench) not in _symbols:
        draws = (functools.partial(_drawn, keywords, seed) for name, keywords in _file.cases.items() if name != case)
        _symbols[case, bench] = symbols_elsewhere(list(made), draws)
    bundle = dataclasses.replace(bundle, symbols=_symbols[case, bench])
    return {"bundle": bundle.to_json(), "device": _device_of(made)}


def rare_draws(case: str, seed: int) -> dict:
    """Seeds of get_inputs whose integers and masks are rare, and what is rare about them (rare_draws.py)."""

    def draw(number: int) -> list[torch.Tensor]:
        with contextlib.suppress(Exception):  # one that fails is none that the kernel will meet
            return _tensors(_drawn(_file.cases[case], number))
        return []

    return {"rare": rare.rarest(draw, seed)}


def _drawn(keywords: dict, seed: int):
    with _pretending(), reseeded(seed):
        return _file.get_inputs(**keywords)


def reference(
    bundle: dict,
    folder: str,
    name: str,
    golden: bool = True,
    roundings: bool = False,
    ties: bool = False,
    tipped: bool = False,
    choices: dict | None = None,
    turned: bool = False,
    backward: str = "",
) -> dict:
    """Run the reference on the inputs in ``bundle``; the results are files ``name.native`` etc. in ``folder``.

    roundings: in the ``moved`` run every intermediate value moves by one rounding, too (roundings.py), and the farthest
    of a few runs counts: where a single value matters, chance may hardly move it. ties: inputs that are equal move
    alike, so that the reference's rule for them stays what is asked for. tipped: by several roundings, in many
    runs, for what the reference decides by a hair. choices: a bundle of integer tensors, whose order of equal values
    the reference takes where PyTorch promises none; ``is_free`` of the answer says that there was such a place. turned:
    it takes another order there. backward: the gradients of the inputs take the place of the result.
    """
    global _backward
    _backward = backward
    source = values.Mapping(values.Bundle.from_json(bundle), writable=False)
    answer = {}
    proposals = _tensors(_materialise(values.Mapping(values.Bundle.from_json(choices)))) if choices else []
    mode = Choices(proposals, turned) if choices or turned else None
    arguments = _materialise(source)
    before = [[t.detach().clone() for t in _tensors(argument)] for argument in arguments]
    with mode or contextlib.nullcontext():
        result, failure, trace = _run(arguments)
    if failure:
        return failure
    answer["is_free"] = mode is not None and mode.is_free
    answer["is_hidden"] = mode is not None and is_hidden(mode.tied, _tensors(result))
    mutated = [i for i, old in enumerate(before) if not all(map(_same_bits, old, _tensors(arguments[i])))]
    answer["aliases"] = aliases(result, arguments, frozenset(_file.mutates))
    try:
        outputs = {"result": _settled(result), "mutated": {str(i): _settled(arguments[i]) for i in mutated}}
        answer["native"] = values.save(outputs, Path(folder, f"{name}.native")).to_json()
    except values.UnsupportedValue as error:
        return {"contract": f"reference_fn returns {error}"}
    answer["mutated"], answer["trace"] = mutated, trace
    del before, result
    size = sum(span.nbytes for span in source.bundle.spans) + sum(s[1] for s in answer["native"]["spans"])
    if golden and 4 * size <= GOLDEN_LIMIT_BYTES:
        exact = _widened(source, mutated, mode=mode)
        draws, unit = (TIPPED_DRAWS, TIPPED_UNIT) if tipped else (DRAWS, FLOAT32_ROUNDING) if roundings else (1, 0.0)
        moved = _moved(source, mutated, exact, draws, unit, ties) if exact else None
        for kind, outputs in (("golden", exact), ("moved", moved)):
            if outputs:  # a reference that cannot run in float64 is judged against its native self
                answer[kind] = values.save(outputs, Path(folder, f"{name}.{kind}")).to_json()
    answer["replaced"] = _snapshot.replaced_functions()
    arguments = exact = moved = outputs = None
    if torch.cuda.is_initialized() and torch.cuda.memory_reserved() > CACHE_LIMIT_BYTES:
        torch.cuda.empty_cache()  # the kernel's process uses the same GPU
    return answer


def is_exact(bundle: dict) -> dict:
    """Does the reference compute without any rounding on these inputs, not even of float32?"""
    source, mode = values.Mapping(values.Bundle.from_json(bundle), writable=False), Exactness()
    return {"exact": _widened(source, [], mode=mode) is not None and mode.is_exact}


@functools.cache
def rehearse() -> dict:
    """Import what PyTorch's decompositions need (SymPy, torch._dynamo): five seconds where no bytecode is kept."""
    with bytecode.kept(), Roundings(FLOAT32_ROUNDING):
        torch.nn.functional.silu(torch.ones(4, dtype=torch.float64))
    return {}


def _widened(source: values.Mapping, mutated: list[int], move: float = 0.0, mode=None, ties=False) -> dict | None:
    """Result and changed inputs of a run in float64, under a dispatch mode if one is given; None where it fails."""
    widened = _materialise(source, widen=True, move=move, ties=ties)
    with mode or contextlib.nullcontext():
        result, failure, _ = _run(widened, traced=False)
    return None if failure else {"result": _settled(result), "mutated": {str(i): _settled(widened[i]) for i in mutated}}


def _moved(source: values.Mapping, mutated: list[int], exact: dict, draws: int, unit: float, ties) -> dict | None:
    if unit:
        rehearse()
    mode = Roundings(unit) if unit else PinnedRoundings(FLOAT32_ROUNDING)
    runs = [_widened(source, mutated, max(unit, FLOAT32_ROUNDING), mode, ties)]
    if runs[0] is None and not unit:  # not every operation runs under a dispatch mode
        return _widened(source, mutated, FLOAT32_ROUNDING, ties=ties)
    draws = DRAWS if mode.moved and not unit else draws
    runs += [_widened(source, mutated, max(unit, FLOAT32_ROUNDING), mode, ties) for _ in range(draws - 1)]
    if unit and None in runs:
        return _moved(source, mutated, exact, 1, 0.0, ties)
    # How many rows there are may hang on a rounding: what another run has more or less of is compared with nothing.
    alike = [run for run in runs if run is not None and _is_shaped_as(run, exact)]
    return functools.reduce(lambda a, b: _farthest(a, b, exact), alike) if alike else runs[0]


def _is_shaped_as(run, exact) -> bool:
    if isinstance(exact, dict):
        return run.keys() == exact.keys() and all(_is_shaped_as(run[key], exact[key]) for key in exact)
    if isinstance(exact, (list, tuple)):
        return len(run) == len(exact) and all(map(_is_shaped_as, run, exact))
    return not isinstance(exact, torch.Tensor) or run.shape == exact.shape


def _farthest(a, b, exact):
    """Of two runs' results, element by element the value that is farther from the exact one."""
    if isinstance(exact, dict):
        return {key: _farthest(a[key], b[key], exact[key]) for key in exact}
    if isinstance(exact, (list, tuple)):
        return [_farthest(*items) for items in zip(a, b, exact, strict=True)]
    if not isinstance(exact, torch.Tensor) or exact.dtype in values.PACKED:
        return a
    if not exact.dtype.is_floating_point:
        far_a, far_b = ((t.to(torch.int64) - exact.to(torch.int64)).abs() for t in (a, b))
        return torch.where(far_b > far_a, b, a)
    wide_a, wide_b, wide = (t.to(torch.float64) for t in (a, b, exact))  # float8 has no arithmetic of its own
    return torch.where((wide_b - wide).abs() > (wide_a - wide).abs(), wide_b, wide_a).to(exact.dtype)


def _run(arguments: list, traced: bool = True) -> tuple:
    """(result, failure answer or None, trace of the call)."""
    integrity.strict_numerics()
    try:
        with _pretending():
            if not traced:  # a profile function would slow down each step of PyTorch's decompositions
                result = _reference.reference_fn(*arguments)
                return (gradients(result, arguments, _backward) if _backward else result), None, None
            result, trace = trace_call(_reference.reference_fn, arguments, _reference.path)
            result = gradients(result, arguments, _backward) if _backward else result
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()  # what it did wrong on the device is raised here
    except _KernelCalled:
        return (
            None,
            {"contract": "reference_fn calls kernel_fn: it must compute the answer in PyTorch on its own"},
            None,
        )
    except BaseException as error:
        return None, _failure("reference_fn", error) | {"lost": case_sizes.device_is_lost()}, None
    own = registered_by(read_source(_reference.path)[1], set(trace["operators"]) - _known_operators)
    if trace["dsl"] or own:
        what = f"launches a kernel of its own ({trace['dsl']})" if trace["dsl"] else (
            f"calls an operator that its file registers (torch.ops.{own[0]})")
        return None, {"contract": f"reference_fn {what}: it must compute the answer in plain PyTorch"}, None
    return result, None, trace


def _materialise(source: values.Mapping, widen: bool = False, move: float = 0.0, ties: bool = False) -> list:
    """The inputs in fresh memory on their device; with widen, floating ones in float64, moved by up to ``move`` of
    themselves (float64 ones by one of their own roundings), those of an input that are equal alike with ties."""
    storages: dict[int, torch.Tensor] = {}

    def storage(index: int) -> torch.Tensor:
        if index not in storages:
            storages[index] = source.bytes_of(index).to(source.bundle.spans[index].device, copy=True)
        return storages[index]

    def adapt(value):
        if isinstance(value, (list, tuple)):
            return type(value)(adapt(item) for item in value)
        if isinstance(value, dict):
            return {key: adapt(item) for key, item in value.items()}
        if not widen or not isinstance(value, torch.Tensor):
            return value
        if value.dtype.is_complex:
            return value.detach().to(torch.complex128)
        if not value.dtype.is_floating_point or value.dtype in values.PACKED:
            return value
        wide = value.detach().to(torch.float64, copy=True)
        if move:
            step = FLOAT64_ROUNDING if value.dtype is torch.float64 else move
            chances = torch.rand(1 << TIED_BITS if ties else wide.shape, dtype=torch.float64, device=wide.device)
            if ties:  # by what a value is: multiplied by an odd number its bits are spread evenly over the top ones
                bits = wide.view(torch.int64).mul(SPREADING).bitwise_right_shift(63 - TIED_BITS)
                chances = chances[bits % len(chances)]
            wide.mul_(1 + step * (2 * chances - 1))
        return wide.requires_grad_(value.requires_grad and bool(_backward))

    return adapt(values.rebuild(source.bundle.tree, storage))


def _inputs_problem(made, is_default: bool) -> str | None:
    if made is None:
        return "get_inputs returns nothing: it must return the list of kernel_fn's arguments"
    if not isinstance(made, (list, tuple)):
        return f"get_inputs returns a {type(made).__name__}: it must return a list of tensors and scalars"
    tensors = [(i, t) for i, t in enumerate(made) if isinstance(t, torch.Tensor)]
    if not any(isinstance(t, torch.Tensor) for t in _leaves(made)):
        return "get_inputs returns no tensor: kernel_fn needs at least one to compute on"
    devices = sorted({t.device.type for _, t in tensors if t.dim()})
    if set(devices) - {"cpu", "cuda"}:
        index, tensor = next((i, t) for i, t in tensors if t.device.type not in ("cpu", "cuda"))
        return f"get_inputs makes input {index} on the device {tensor.device}: use cuda (or cpu)"
    if len(devices) > 1:
        index, tensor = next((i, t) for i, t in tensors if t.dim() and t.device.type == "cpu")
        return f"get_inputs makes input {index} on the CPU and others on the GPU: put all of them on one device"
    beyond = sorted(index for index in _file.mutates if index >= len(made))
    if is_default and beyond:  # a case may leave the last ones out
        return f"MUTATES names input {beyond[0]}, but get_inputs() returns {len(made)}: they are counted from 0"
    return None


def _leaves(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


def _tensors(value) -> list[torch.Tensor]:
    return [leaf for leaf in _leaves(value) if isinstance(leaf, torch.Tensor)]


def _device_of(made) -> str:
    """The GPU that any input is on, else "cpu": scalars of no dimension may lie on the CPU beside tensors on a GPU."""
    return next((str(t.device) for t in _tensors(made) if t.is_cuda), "cpu")


def _settled(value):
    """Detached tensors with their conjugate and negative bits resolved; containers keep their kind."""
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg()
    if isinstance(value, (list, tuple)):
        return [_settled(item) for item in value] if isinstance(value, list) else tuple(_settled(v) for v in value)
    if isinstance(value, dict):
        return {key: _settled(item) for key, item in value.items()}
    return value


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(values.flat_bytes(a), values.flat_bytes(b))


def _failure(what: str, error: BaseException) -> dict:
    text = " ".join(str(error).split())[:300]
    path = _file.path if what == "get_inputs" else _reference.path
    kind = "needs_gpu" if _asks_for_gpu(error) else "contract"
    return {kind: f"{what} raises {type(error).__name__}: {text}", "detail": author_traceback(error, path)}


def _asks_for_gpu(error: BaseException | None) -> bool:
    """Is this what PyTorch says where there is no GPU?"""
    words = ("NVIDIA driver", "CUDA", "cuda", "dummy base class")
    is_torchs = isinstance(error, (RuntimeError, AssertionError))  # a module that is missing may have such a name
    return is_torchs and not torch.cuda.is_available() and any(word in str(error) for word in words)


class _KernelCalled(BaseException):
    pass


def _forbidden_kernel(*_args, **_kwargs):
    raise _KernelCalled


def _of_the_file(function: Callable) -> Callable:
    """A question of case_sizes.py, asked of the file."""

    def answer(**arguments) -> dict:
        try:
            with _pretending():
                return function(_file, **arguments)
        except case_sizes.DeviceLost as lost:
            return {"lost": lost.case}

    return answer


_SERVED = (load, inputs, rare_draws, reference, is_exact, rehearse)
HANDLERS = {function.__name__: function for function in _SERVED}
HANDLERS |= {name: _of_the_file(function) for name, function in {**case_sizes.QUESTIONS, **vast.QUESTIONS}.items()}
