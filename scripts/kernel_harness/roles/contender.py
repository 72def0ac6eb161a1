"""Child role: calls one function of one kernel file, reports raw times and evidence, draws no conclusions (torch).

Its handlers are ``open``, then for each case ``enter``, ``burst`` as often as the judge likes, and the asides.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from .. import values
from ..contract import ContractError, KernelFile, author_traceback, configured, load_kernel
from ..inputs import input_sets
from ..performance import burst_evidence, timing

COMPILERS = ("cutlass", "triton", "torch._inductor", "torch._dynamo")
_now_s = time.perf_counter


@dataclass
class Opened:
    """The file, the function under the clock, and the clocks as they were before the import."""

    kernel: KernelFile
    get_inputs: Callable
    cases: dict
    function: Callable
    mutates: list[int]
    gpu: timing.GpuTimer | None
    method: str | None
    clocks: dict


@dataclass
class Case:
    """The case that is being timed."""

    timer: timing.GpuTimer | timing.HostTimer
    keywords: dict
    same_values: bool   # get_inputs ignores the seed
    sets: input_sets.InputSets | None = None
    plan: input_sets.Rotation | None = None
    count: int = 2
    offset: int = 0
    prints: dict[int, list | None] = field(default_factory=dict)   # of the last outputs computed from each set


_opened: Opened | None = None
_case: Case | None = None


def open_file(file: str, inputs_of: str, subject: str, method: str | None) -> dict:
    """Make the timer, then import ``file``; its inputs and cases are those of the kernel file ``inputs_of``.

    subject: "kernel", "reference", or "compile" (reference_fn through torch.compile).
    """
    global _opened
    clocks = burst_evidence.clock_identities()
    try:
        gpu = timing.open_timer("cuda", method) if torch.cuda.is_available() and method != "perf_counter" else None
        started = _now_s()
        kernel = load_kernel(file)
        import_s = _now_s() - started
        source = kernel if inputs_of == file else load_kernel(inputs_of)
    except timing.TimingUnavailable as error:
        return {"error": "method", "message": str(error), "detail": ""}
    except ContractError as error:
        return {"error": "contract", "message": str(error), "detail": error.detail}
    function = kernel.kernel_fn if subject == "kernel" else kernel.reference_fn
    if subject == "compile":
        function = torch.compile(function, dynamic=False)
    # A reference may change its inputs as well; one that does not is put on the same footing.
    _opened = Opened(kernel, source.get_inputs, source.all_cases, function, sorted(kernel.mutates), gpu, method,
                     clocks)
    return {"import_s": import_s, "sha256": kernel.sha256}


def enter(case: str, seed: int, budget_s: float = 3.0, config: dict | None = None) -> dict:
    """Draw the inputs of a case, make its first call, plan the rotation and warm up; what is known of the case.

    config: keywords of kernel_fn, for a file that is being tuned.
    """
    global _case
    _case = None
    keywords = dict(_opened.cases[case])
    try:
        same_values = input_sets.ignores_seed(_opened.get_inputs, keywords)
        first = _draw(keywords, same_values, seed)
    except Exception as error:
        return _raised("inputs", error)
    devices = [tensor.device for tensor in input_sets.tensors_in(first)]
    gpus = {device for device in devices if device.type == "cuda"}
    if gpus - {torch.device("cuda", 0)}:
        where = ", ".join(sorted(map(str, gpus)))
        return {"error": "method", "detail": "", "message": f"the inputs are on {where}, and the clocks those of the "
                'first GPU: choose one with CUDA_VISIBLE_DEVICES and use the device "cuda"'}
    device = "cuda" if gpus else "cpu"
    try:
        timer = _opened.gpu if device == "cuda" else timing.open_timer(device, _opened.method)
    except timing.TimingUnavailable as error:
        return {"error": "method", "message": str(error), "detail": ""}
    try:
        if config is not None and (excluded := _configure(config, first)):
            return excluded
        _case = Case(timer, keywords, same_values)
        return _warm_up(first, device, seed, budget_s)
    except Exception as error:
        return _raised("call", error)


def _warm_up(first: list, device: str, seed: int, budget_s: float) -> dict:
    case, kept = _case, input_sets.InputSets([first], _opened.mutates)
    started = _now_s()
    result = _opened.function(*first)
    case.timer.synchronize()
    first_call_s = _now_s() - started
    kept.restore(0)
    facts = input_sets.facts(_opened.kernel, first, result)
    room = _room(device)
    case.plan = input_sets.plan_rotation(facts["input_bytes"] + facts["output_bytes"], case.timer.l2_bytes, room,
                                         bool(_opened.mutates), flushes=device == "cuda")
    rest = [_draw(case.keywords, case.same_values, seed + index) for index in range(1, case.plan.sets)]
    case.sets = input_sets.InputSets([first, *rest], _opened.mutates)
    for index in range(case.plan.sets):
        mark = input_sets.fingerprint(input_sets.tensors_in(_outputs(_opened.function(*case.sets[index]), index)))
        case.prints[index] = None if mark is None else mark.tolist()
        case.sets.restore(index)
    probe = case.timer.burst(lambda index: _opened.function(*case.sets[index % case.plan.sets]), 2,
                             lambda index: case.sets.restore(index % case.plan.sets))
    for index in range(case.plan.sets):
        case.sets.restore(index)
    case.count = input_sets.burst_calls(
        launches=max(sum(call.launches.values()) for call in probe.calls), output_bytes=facts["output_bytes"],
        room_bytes=room, call_us=min(call.device_us for call in probe.calls), budget_s=budget_s)
    return {**facts, "device": device, "method": case.timer.method, "note": case.timer.note,
            "first_call_s": first_call_s, "rotation": case.plan.reason,
            "keywords": {key: str(value) for key, value in case.keywords.items()}}


def burst(ambush: int, seed: int, fresh: dict | None = None, keep: str | None = None) -> dict:
    """One burst over the rotation; call number ``ambush`` gets unseen values in storage that the kernel knows.

    fresh: a bundle that holds those values, else they are drawn under ``seed``. keep: file for that call's outputs.
    """
    case, sets, count = _case, _case.sets, _case.count
    ambush %= count
    unseen = input_sets.load(fresh) if fresh else _draw(case.keywords, case.same_values, seed)
    order = [(case.offset + index) % case.plan.sets for index in range(count)]
    case.offset = (case.offset + count) % case.plan.sets
    outputs: list = [None] * count
    early: list = [None] * count

    def before(index: int) -> None:
        if index == ambush:
            sets.overwrite(order[index], unseen)
        sets.restore(order[index])
        if case.plan.flush or index == ambush:
            case.timer.flush()

    def after(index: int, result) -> None:
        outputs[index] = _outputs(result, order[index])
        early[index] = input_sets.fingerprint(input_sets.tensors_in(outputs[index]))

    try:
        taken = case.timer.burst(lambda index: _opened.function(*sets[order[index]]), count, before, after)
    except Exception as error:
        return _raised("call", error)
    last_use = {slot: index for index, slot in enumerate(order)}
    # A set that was used again later in the burst holds another call's in-place result by now.
    comparable = [index for index in range(count) if not _opened.mutates or last_use[order[index]] == index]
    prints = burst_evidence.prints_of(early)
    answer = {**burst_evidence.times_of(taken), "ambush": ambush,
              "lazy": burst_evidence.lazy_types([result for result, _ in outputs]),
              "changed_later": burst_evidence.changed_later(outputs, prints, comparable),
              "shared_outputs": burst_evidence.share_memory(outputs),
              "replayed": prints[ambush] is not None and prints[ambush] == case.prints.get(order[ambush]),
              "patched_clocks": burst_evidence.patched(_opened.clocks)}
    case.prints.update({slot: prints[index] for slot, index in last_use.items()})
    if keep is not None and not answer["lazy"]:
        result, changed = outputs[ambush]
        mutated = {str(index): tensor for index, tensor in zip(_opened.mutates, changed, strict=True)}
        answer["kept"] = values.save({"result": result, "mutated": mutated}, Path(keep)).to_json()
    return answer


def warm(count: int) -> dict:
    """Times with the operands left in the L2 by the call before: the same set again and again."""
    taken = _case.timer.burst(lambda _: _opened.function(*_case.sets[0]), count + 2, lambda _: _case.sets.restore(0))
    return {"device_us": [call.device_us for call in taken.calls[2:]]}


def host(count: int) -> dict:
    """Host time of a call while nothing is recorded."""
    times = _case.timer.host_us(lambda _: _opened.function(*_case.sets[0]), count)
    _case.sets.restore(0)
    return {"host_us": times}


def profile() -> dict:
    """Every launch of one call with its grid, registers and shared memory, as CUPTI saw it."""
    taken = _case.timer.burst(lambda _: _opened.function(*_case.sets[0]), 3, lambda _: _case.sets.restore(0))
    return {"launches": [{"name": one.name, "us": (one.end_ns - one.start_ns) / 1e3, "stream": one.stream,
                          "shape": one.shape, "registers": one.registers, "shared_bytes": one.shared_bytes}
                         for one in taken.calls[-1].activities]}


def space() -> dict:
    """The file's TUNING_SPACE as {name: values}; empty when it has none."""
    return {"space": {name: list(choices) for name, choices in (_opened.kernel.tuning_space or {}).items()}}


def configure(config: dict, call: bool) -> dict:
    """Use kernel_fn with these keywords from here on. call: make a first call, which compiles."""
    try:
        excluded = _configure(config, _case.sets[0])
        if not call:
            return {}
        if excluded:
            return excluded
        started = _now_s()
        _opened.function(*_case.sets[0])
        _case.timer.synchronize()
        first_call_s = _now_s() - started
        _case.sets.restore(0)
    except Exception as error:
        return _raised("call", error)
    return {"first_call_s": first_call_s}


def _configure(config: dict, given: list) -> dict:
    """Use kernel_fn with these keywords from here on; an error where tuning_constraint excludes them for ``given``."""
    _opened.function = configured(_opened.kernel.kernel_fn, config, len(given))
    allows = getattr(_opened.kernel.module, "tuning_constraint", None)
    said = configured(allows, config, len(given))(*given) if allows and config else True
    if said is True:
        return {}
    sentence = f"excluded by tuning_constraint{f': {said}' if said else ''}"
    return {"error": "constraint", "message": sentence, "detail": ""}


def _outputs(result, slot: int) -> tuple:   # (what the call returned, the inputs that it is meant to change)
    return result, [_case.sets[slot][index] for index in _opened.mutates]


def _room(device: str) -> int:
    return torch.cuda.mem_get_info()[0] // 4 if device == "cuda" else 2 << 30


def _draw(keywords: dict, same_values: bool, seed: int) -> list:
    """Inputs that differ from those of every other seed."""
    inputs = input_sets.draw(_opened.get_inputs, keywords, seed)
    return input_sets.scaled(inputs, seed) if same_values else inputs


def _raised(where: str, error: BaseException) -> dict:
    if isinstance(error, ContractError):
        return {"error": "contract", "message": str(error), "detail": error.detail}
    text = " ".join(str(error).split())[:300]
    if where == "call" and type(error).__module__.startswith(COMPILERS):
        where = "compile"
    return {"error": where, "message": f"{type(error).__name__}: {text}",
            "detail": author_traceback(error, _opened.kernel.path)}


HANDLERS = {"open": open_file, "enter": enter, "burst": burst, "warm": warm, "host": host, "profile": profile,
            "space": space, "configure": configure}
