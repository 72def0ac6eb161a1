"""Worker: runs kernel_fn and nothing else. It never holds an expected value.

Inputs live where the judge can see them: on the CPU the tensors lie in a file that the judge maps too, so the judge
itself changes values and checks guard zones; on the GPU they are copied there and back. What this process says about
itself (threads, patches, aliasing) adds to what the judge measures and never replaces it.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from .. import simulation, values
from ..contract import ContractError, KernelFile, load_kernel
from ..inputs import vast
from ..observation import (
    audit,
    census,
    failures,
    graph_nodes,
    in_turn,
    integrity,
    interpreter,
    own_inputs,
    reference_guard,
)
from ..observation.in_turn import WARM, device, prints, save
from ..observation.poison import PATTERNS, poison_next, poison_results
from ..observation.slots import SLOTS, Slot, fill_device, filled, lend, on_stream, prepare, read_back
from ..observation.surroundings import Surroundings
from ..observation.tracing import trace_call
from ..observation.witness import Witness
from ..outputs import aliases, contents, gradients, leaves, result_problem, settled
from ..processes import neutral

SETTLE_SECONDS = 0.03  # how long deferred work gets before an output is read a second time

_file: KernelFile | None = None
_snapshot: integrity.Snapshot | None = None
_around = neutral.hidden  # around the file's own code; the simulator where there is one
_captures: dict[str, tuple[Slot, object, graph_nodes.Nodes]] = {}  # by slot: (slot, result of the capture, its nodes)
_history: list[tuple[str, object, list]] = []  # (call, result, fingerprints): results must outlive later calls
_call_numbers = itertools.count(1)
HISTORY_BYTES, HISTORY_RESULTS = 256 * 2**20, 8
_sleep, _clock = time.sleep, time.perf_counter  # bound before the kernel file is imported, as all that is called here


def load(path: str, folder: str, alert: Callable, interpret: bool = False, simulate: dict | None = None) -> dict:
    """Import the kernel file. folder: the judge's. alert: reports to the judge what the file's code looks at.
    interpret: Triton kernels run in Triton's interpreter (CPU tensors). simulate: arguments of simulation.contexts:
    launches run in the PTX simulator."""
    global _file, _snapshot, _around
    if simulate:
        _around = simulation.contexts(**simulate)
    else:
        simulation.refuse_extensions()
    if interpret:
        interpreter.use()
    _snapshot = integrity.Snapshot((Path(path),))
    threads, modes = integrity.thread_count(), integrity.numeric_state()
    neutral.mute_signal_handlers()
    audit.watch(Path(path), (Path(folder), Path(__file__).parents[1]), alert, neutral.PACKAGE)
    try:
        with _around():
            _file = load_kernel(path)
    except ContractError as error:
        return {"contract": str(error), "detail": error.detail}
    interpreter.mend()
    gc.freeze()  # modules: drop() need not look through them
    reference_guard.forbid(_file)
    if _file.module.kernel_fn is not _file.kernel_fn:
        return {"contract": f"{path}: kernel_fn changed while the file was loaded"}
    facts = {
        "replaced": _snapshot.replaced_functions(),
        "changed_files": _snapshot.changed_files(),
        "process": _snapshot.changed_process(),
        "new_threads": integrity.thread_count() - threads,
        "state": integrity.changed(modes, integrity.numeric_state()),
        "python_threads": [],
        "kernels_defined": census.kernels_defined(_file.module),
    }
    if not interpret and not simulate and torch.cuda.is_available():
        torch.cuda.synchronize()  # makes the CUDA context while the oracle draws its inputs
    return facts


def call(
    bundle: dict,
    slot: str,
    output: str,
    refresh: str = "",
    poison: str = "nan",
    stream: str = "default",
    embed: bool = False,
    borrow: Sequence[int] = (),
    trace: bool = False,
    count_kernels: bool = False,
    expected_nbytes: list[int] = (),
    launches: str = "",
    witness: bool = False,
    mode: str = "",
    own: str = "",
    again: int = 0,
    before: dict | None = None,
    then: dict | None = None,
    backward: str = "",
) -> dict:
    """Run kernel_fn once and lay the result out in the file ``output``.

    refresh: "" makes new tensors in new memory, "sealed" in such as ends who writes to it, "plain" in
    PyTorch's own (CPU); "bumped" and "silent" reuse those of ``slot`` with the values that the file holds now.
    stream: "default", "side" (a non-blocking one) or "slow" (that, with inputs late on it, and nothing waited for).
    embed: the inputs are views at an offset of a larger storage, as slices and parameters of flattened modules are.
    borrow: positions of inputs that are those of slot "a", with the values that its file holds now.
    launches: of simulation.launching, or of interpreter's. witness: says of what the result is a copy. mode: torch's
    for the call. before: WARM calls on this bundle go right before. again: so many more calls follow, whose results are
    dropped; then: and one on this bundle, before the gradients if these are asked for. own: a case, whose get_inputs
    makes the tensors that are passed, here, before they are given the values. backward: the gradients of the inputs
    take the place of the result.
    """
    entry = prepare(bundle, slot, refresh, None, embed)
    if borrow:
        lend(SLOTS["a"], entry, borrow)
    preceding, following = ([filled(prepare(b, "beside", "", None))] if b else [] for b in (before, then))
    preceding *= 1 if _file.mutates else WARM
    with _around():
        mine = own_inputs.drawn(_file, own) if own else []
    on_gpu = any(t.is_cuda for t in entry.storages.values())
    if backward:
        torch.ones(1, device=device(entry), requires_grad=True).sum().backward()  # starts threads of PyTorch's own
    state, threads = integrity.numeric_state(), integrity.thread_count()
    before_call = contents(entry.inputs)
    arguments, facts = list(entry.inputs), {}
    try:
        with on_stream(stream if on_gpu else "default") as side:
            poison_next(list(expected_nbytes), poison, device(entry))  # in the pool of this stream
            if on_gpu:
                fill_device(entry, late=stream == "slow")
            arguments = own_inputs.holding(mine, arguments)
            around = Surroundings(PATTERNS[poison], device(entry)) if on_gpu else None
            started = _clock()
            interpreter.taken()
            turns = interpreter.launching(launches)
            with _around() as simulator, simulation.launching(simulator, launches, arguments, _file.mutates), turns:
                quiet = getattr(torch, mode)() if mode else contextlib.nullcontext()
                with quiet, Witness(arguments) if witness else contextlib.nullcontext() as seen:
                    results = [_watched(earlier, False, False, {}) for earlier in preceding]  # which are held
                    result = [*results, _watched(arguments, trace, count_kernels and on_gpu, facts)][-1]
                    between = [_file.kernel_fn(*one) for one in following] if backward else []
                    result = gradients(result, arguments, backward) if backward else result
                facts |= seen.told(result) if seen else {}
                for later in [arguments] * again + following[len(between) :]:
                    _file.kernel_fn(*later)
            facts["host_seconds"] = _clock() - started
            facts["simulated"], facts["interpreted"] = simulation.facts(simulator), interpreter.taken()
            if around:
                with contextlib.suppress(RuntimeError):  # a result without memory of its own
                    around.look([t for t in leaves(result) if t.layout is torch.strided])
            early = prints(result, snapshot=True)  # on the same stream, before anything is waited for
            if side is not None:
                side.synchronize()
        threads_now, python_threads = integrity.thread_count(), integrity.threads_of_python()
        if on_gpu:
            torch.cuda.synchronize()  # what a kernel did wrong on the device is raised here
    except BaseException as error:
        return failures.answer(error, _file.path)
    if problem := result_problem(result):
        return problem
    # Work that goes on behind the call's back needs a moment. Only threads do that: what a GPU was given is done.
    if python_threads or threads_now > threads:
        _sleep(SETTLE_SECONDS)
        if on_gpu:
            torch.cuda.synchronize()
    busy = integrity.busy_share(_sleep) if python_threads else 0.0
    late = prints(result)
    shared = aliases(result, entry.inputs, _file.mutates)
    facts |= {
        "held": None if shared else _remember(f"call {next(_call_numbers)}", result, late),
        "deferred": early != late,
        "aliases": shared,
        "behind": around.written() if around else [],
        "new_threads": max(0, threads_now - threads),
        "python_threads": python_threads,
        "busy_threads": busy,
        "state": integrity.changed(state, integrity.numeric_state()) + integrity.seeded_anew(),
        "written": [i for i, now in enumerate(contents(entry.inputs)) if now != before_call[i]],
        "replaced": _snapshot.replaced_functions(),
        "changed_files": _snapshot.changed_files(),
        "process": _snapshot.changed_process(),
    }
    if on_gpu:
        read_back(entry)
    try:
        return {"bundle": save(_file, entry, result, output), "facts": facts}
    except values.UnsupportedValue as error:
        return {"problem": f"kernel_fn returns {error}", "check": "structure"}


def _watched(arguments: list, trace: bool, count: bool, facts: dict):
    """What kernel_fn returns; ``facts`` gets the trace of the call and the kernels that it launched, if asked for."""

    def run(*arguments):
        if not trace:
            return _file.kernel_fn(*arguments)
        result, facts["trace"] = trace_call(_file.kernel_fn, arguments, _file.path)
        return result

    if not count:
        result, facts["products"] = census.products(run, arguments) if trace else (run(*arguments), [])
        return result
    result, facts["kernels"] = census.count_kernels(run, arguments, census.kernels_defined(_file.module))
    return result


def alternate(bundle: dict, other: dict, slot: str, outputs: list[str], count: int, seconds: list[float]) -> dict:
    """in_turn.alternate on the values of the two bundles, in the memory of ``slot``."""
    entry = prepare(bundle, slot, "", None)
    return _or_failure(in_turn.alternate, _file, _around, entry, [bundle, other], outputs, count, seconds,
                       neutral.CALLERS)


def soon(bundle: dict, other: dict, slot: str, output: str, timed: bool) -> dict:
    """in_turn.soon on the values of the two bundles, in the memory of ``slot``."""
    return _or_failure(in_turn.soon, _file, _around, prepare(bundle, slot, "", None), [bundle, other], output, timed)


def many_calls(bundle: dict, slot: str, outputs: list[str], count: int, seconds: float) -> dict:
    """simulation.many_calls on the values of ``bundle``; the last results of new launches go to ``outputs``."""
    entry = prepare(bundle, slot, "", None)
    try:
        kernel_fn, mutates = _file.kernel_fn, _file.mutates
        calls, new, is_reused = simulation.many_calls(_around, kernel_fn, entry.inputs, mutates, count, seconds)
    except BaseException as error:
        return failures.answer(error, _file.path)
    last = zip(outputs, new[::-1], strict=False)
    saved = [{"call": call, "bundle": save(_file, entry, result, output)} for output, (call, result) in last]
    return {"calls": calls, "reused": is_reused, "found": saved}


def recheck() -> dict:
    """Slots whose result is no longer what it was right after its call (a shared static buffer, or late work)."""
    _sleep(SETTLE_SECONDS)
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    changed = [name for name, result, printed in _history if prints(result) != printed]
    tampered = {"replaced": _snapshot.replaced_functions(), "changed_files": _snapshot.changed_files()}
    return {"changed": changed, "kept": [name for name, _, _ in _history], **tampered}


def drop(slots: list[str]) -> dict:
    """Forget slots and give their memory back; results stay in the history until recheck() looked at them."""
    for slot in slots:
        SLOTS.pop(slot, None)
        _captures.pop(slot, None)
    gc.collect()
    if torch.cuda.is_initialized():
        with contextlib.suppress(RuntimeError):  # the allocator refuses for good after a capture that failed
            torch.cuda.empty_cache()  # the oracle and the judge use the same GPU
    return {}


def graph(
    bundle: dict, slot: str, output: str = "", fresh: dict | None = None, poison: str = "large", waits: bool = True
) -> dict:
    """Capture kernel_fn on ``bundle`` in a CUDA graph; replay it on the values of ``fresh`` with poisoned results.

    fresh: None only captures. waits: False makes the file's waits for the device do nothing during the capture.
    """
    entry = prepare(bundle, slot, "", None)
    fill_device(entry)
    outside, stream = torch.cuda.current_stream(), torch.cuda.Stream()
    stream.wait_stream(outside)
    keeps = hasattr(torch.cuda.CUDAGraph, "instantiate")  # from PyTorch 2.8 on its nodes can be looked at
    captured = torch.cuda.CUDAGraph(keep_graph=True) if keeps else torch.cuda.CUDAGraph()
    try:
        with torch.cuda.stream(stream), _around():
            for _ in range(2):
                _file.kernel_fn(*entry.inputs)
        torch.cuda.synchronize()
        during = contextlib.nullcontext if waits else graph_nodes.without_waits
        with torch.cuda.graph(captured, stream=stream, capture_error_mode="thread_local"), _around(), during():
            result = _file.kernel_fn(*entry.inputs)
        if keeps:
            captured.instantiate()
    except BaseException as error:
        # Where a capture cannot be ended, torch.cuda.graph leaves its stream the current one.
        torch.cuda.set_stream(outside)
        with contextlib.suppress(Exception):
            torch.cuda.synchronize()
        return {"not_capturable": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    if problem := result_problem(result):
        return problem
    saved = kernels = None
    if fresh:
        entry.source = values.Mapping(values.Bundle.from_json(fresh))
        try:
            fill_device(entry)
            poison_results(entry.inputs, result, PATTERNS[poison])
            captured.replay()
            torch.cuda.synchronize()
        except BaseException as error:
            return failures.answer(error, _file.path)
        saved = save(_file, entry, result, output)
        read_back(entry)
    with contextlib.suppress(RuntimeError, AttributeError, ImportError):  # not every release hands its nodes out
        nodes = graph_nodes.Nodes(captured)
        kernels = graph_nodes.kernels_of(nodes, census.kernels_defined(_file.module))
        _captures[slot] = (entry, result, nodes)
    return {"bundle": saved, "kernels": kernels, "facts": {}}


def ablate(slot: str, output: str, fresh: dict, disabled: list[str]) -> dict:
    """Replay the graph that ``graph`` captured on ``fresh``, without its kernels of the names ``disabled``."""
    entry, result, nodes = _captures.pop(slot)
    entry.source = values.Mapping(values.Bundle.from_json(fresh))
    try:
        fill_device(entry)
        nodes.replay_without(set(disabled))
    except BaseException as error:
        return failures.answer(error, _file.path)
    return {"bundle": save(_file, entry, result, output), "facts": {}}


def _remember(name: str, result, printed: list) -> str | None:
    """Keep a result for recheck(); its name, by which the judge asks for it, None for one that is not kept."""
    size = sum(t.numel() * t.element_size() for t in leaves(result))
    if size <= HISTORY_BYTES // 8 and not _file.mutates:  # an in-place result changes with its input, by declaration
        _history.append((name, settled(result), printed))  # as views, which outlive the object that was returned
        del _history[:-HISTORY_RESULTS]
        return name
    return None


def sample(**asked) -> dict:
    """vast.sampled of kernel_fn."""
    return _or_failure(vast.sampled, _file, _file.kernel_fn, reference_guard.allowed(_file), **asked)


def _or_failure(function: Callable, *arguments, **named) -> dict:
    try:
        return function(*arguments, **named)
    except BaseException as error:
        return failures.answer(error, _file.path)


HANDLERS = {f.__name__: f for f in (load, call, alternate, many_calls, recheck, drop, graph, ablate, sample, soon)}
