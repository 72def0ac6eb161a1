"""How large a file's cases are, smaller versions of them, and cases of sizes between theirs. get_inputs runs here."""

from __future__ import annotations

import inspect
import math
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

import torch

from .. import values
from ..contract import KernelFile, read_source
from ..outputs import leaves
from . import claims, layouts, shrinking
from .between import between, doubled, drawn, far, long, nothing, uneven, unlike
from .case_numbers import volume
from .paths import constants
from .unset import unset

DRAWN_SECONDS = 1.0  # to make the inputs of sizes that are drawn
AT_ONCE, FAR_SECONDS, MOST_FAR_SECONDS = 0.01, 0.25, 1.0  # of the reference; of the next size, by what is known
FAR_GROWTH = 64  # of time and bytes from one size to the next, where it is as the square
MORE = 4  # times the bytes of the inputs: a result that may grow so
DRAWN = 2**25  # the product of a case's sizes, to be drawn at all: not all of them need be those of one tensor


class DeviceLost(Exception):
    """get_inputs made the GPU fault, as an index out of bounds does: its process can ask it for nothing more."""

    def __init__(self, case: str):
        super().__init__(case)
        self.case = case


class TooSlow(BaseException):
    """The reference's own `except Exception` does not hold it."""


def device_is_lost() -> bool:
    """Is this process's CUDA context beyond use, as after an index out of bounds?"""
    try:
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def nbytes(file: KernelFile, cases: list[str]) -> dict:
    """Bytes of the inputs of each case, zero where get_inputs fails: the trials of that case will say so."""
    found = []
    for case in cases:
        try:
            found.append(_bytes_with(file, file.cases[case]))
        except BaseException:  # whatever it is
            found.append(0)
    return {"nbytes": found}


def shrink(file: KernelFile, case: str, limit: int, kept: list[str]) -> dict:
    """Add a smaller version of a case, whose inputs take at most ``limit`` bytes (shrinking.py): its name and sizes."""
    given = file.cases[case]
    before = {**default_sizes(file), **given}
    after = shrinking.shrink(before, lambda keywords: _bytes_with(file, keywords), limit, kept)
    if after is None:
        return {"failed": "halving the integers of its arguments does not make its inputs small enough"}
    name = f"{case}, shrunk"
    file.cases[name] = {key: value for key, value in after.items() if key in given or value != before[key]}
    changed = [key for key, value in after.items() if value != before[key]]
    changed.sort(key=lambda key: min(after[key]) if isinstance(after[key], (tuple, list)) else after[key])
    return {"name": name, "changed": changed, "changes": shrinking.changes(before, after)}


def resize(file: KernelFile, case: str, changes: dict) -> dict:
    """Add a case of TEST_CASES or BENCH_CASES with other sizes: its name, and the sizes as a sentence tells them."""
    given = {**file.bench_cases, **file.cases}[case]
    before = {**default_sizes(file), **given}
    changes = {name: type(before[name])(value) for name, value in changes.items()}  # a tuple came as a list
    name = f"{case}, shrunk"
    file.cases[name] = {**given, **changes}
    return {"name": name, "changes": shrinking.changes(before, {**before, **changes})}


def add_between(
    file: KernelFile, limit: int, without: Collection[str] = (), long_limit: int = 0, far_limit: int = 0
) -> dict:
    """Add cases of sizes between those of the file's cases (between.py), of at most ``limit`` bytes, but those of the
    names ``without``: their names, in groups of the same size beside different others; of sizes that lack what theirs
    have in common under "unlike", of twice the largest under "doubled", drawn together under "drawn", of zero under
    "nothing", of BENCH_CASES beside small ones under "long", of at most ``long_limit`` bytes, and far above all under
    "far", of ``far_limit``. Raises DeviceLost."""
    given = [{**default_sizes(file), **case} for case in file.cases.values()]
    timed = [{**default_sizes(file), **case} for case in file.bench_cases.values()]
    groups = between(given, constants(read_source(file.path)[1]), timed)
    found = {"uneven": uneven(given, timed), "unlike": unlike(given, timed), "groups": groups}
    found |= {"doubled": doubled(given, timed), "drawn": drawn(given, timed), "long": long(given, timed)}
    found |= {"nothing": nothing(given, timed)}
    limits = dict.fromkeys(found, limit) | {"long": long_limit}
    added = {
        kind: _added(file, given, rows, limits[kind], without, DRAWN_SECONDS if kind == "drawn" else math.inf)
        for kind, rows in found.items()
    }
    reached = (_farthest(file, rows, far_limit, without) for rows in far(given, timed))
    return added | {"far": [names for names in reached if names]}


def _farthest(file: KernelFile, rows: list[tuple], limit: int, without) -> list[str]:
    """Those of the cases, of growing sizes, that the reference answers in FAR_SECONDS and with little, the last first:
    a kernel may refuse that one. Raises DeviceLost."""
    reached, before = [], 0
    for changed, keywords, is_far in rows:
        name, seconds, nbytes = _name(changed, keywords), math.inf, None
        if name in without or volume(keywords) > DRAWN:
            break
        with suppress(TooSlow), _stopped_after(MOST_FAR_SECONDS):
            seconds, nbytes = _cost(file, keywords) if _fits(file, name, keywords, limit) else (math.inf, None)
        if device_is_lost():
            raise DeviceLost(name)
        if nbytes is None and not math.isinf(seconds):
            continue  # the reference does not take it, and may take a larger one
        if nbytes is None or nbytes > limit or seconds > FAR_SECONDS:
            break
        if is_far:
            reached.insert(0, name)
            file.cases[name] = keywords
        grows = FAR_GROWTH if nbytes > MORE * _bytes_with(file, keywords) else math.sqrt(FAR_GROWTH)
        growth = nbytes / before if before else grows
        if FAR_GROWTH * seconds > MOST_FAR_SECONDS or growth * nbytes > limit:
            break
        before = nbytes
    return reached


def _cost(file: KernelFile, keywords: dict) -> tuple[float, int | None]:
    """Seconds that the reference takes, of two calls where the first is not at once, and bytes of what it returns, None
    where it raises."""
    seconds, nbytes = 0.0, None
    with suppress(Exception), torch.no_grad():
        for _ in range(2):
            inputs, started = file.get_inputs(**keywords), time.monotonic()
            nbytes = values.reached_bytes([file.reference_fn(*inputs)])
            device_is_lost()  # waits for it
            took = time.monotonic() - started
            seconds = min(took, seconds or took)
            if not AT_ONCE < seconds < FAR_SECONDS:
                break
    return seconds, nbytes


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    """Raises TooSlow in a loop of Python that takes longer."""

    def stop(*_):
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _added(
    file: KernelFile, given: list[dict], rows: list[tuple], limit: int, without, seconds: float
) -> list[list[str]]:
    """seconds: after which no more are added."""
    groups: dict[str, list[str]] = {}
    until = time.monotonic() + seconds
    most = max([DRAWN, *map(volume, given)])
    for changed, keywords, _ in rows:
        if time.monotonic() > until:
            break
        if volume(keywords) > most:  # get_inputs might take all memory before its inputs are seen to be too large
            continue
        name = _name(changed, keywords)
        if name not in without and _fits(file, name, keywords, limit):
            file.cases[name] = keywords
            groups.setdefault(changed, []).append(name)
    return list(groups.values())


def _name(changed: str, keywords: dict) -> str:
    return f"{changed} beside " + (", ".join(f"{k}={v}" for k, v in keywords.items()) or "nothing")


def _fits(file: KernelFile, name: str, keywords: dict, limit: int) -> bool:
    """Does get_inputs take these values together, and make at most ``limit`` bytes of them? Raises DeviceLost."""
    size = None
    with suppress(Exception):  # whatever get_inputs raises
        size = _bytes_with(file, keywords)
    if device_is_lost():
        raise DeviceLost(name)
    return size is not None and size <= limit


def add_unset(file: KernelFile, cases: list[str], limit: int, without: Collection[str] = ()) -> dict:
    """Add cases with keywords of get_inputs that none of ``cases`` sets (unset.py), of at most ``limit`` bytes, but
    those of the names ``without``: their names, in groups for one keyword or pair. What else they say is said by the
    first of these that is small enough. Raises DeviceLost."""
    groups, given = [], [file.cases[name] for name in cases]
    claimed = [getattr(torch, name) for name in claims.dtypes(read_source(file.path)[1])]
    for choices in unset(_defaults(file), given, claimed):
        names = []
        for chosen in choices:
            together = " together" if len(chosen) > 1 else ""
            name = ", ".join(f"{k}={v}" for k, v in chosen.items()) + f", which no case sets{together}"
            for case in given if name not in without else ():
                new = {**case, **chosen}
                if _fits(file, name, case, limit) and _fits(file, name, new, limit):
                    names.append(name)
                    file.cases[name] = new
                    break
        groups.append(names)
    return {"groups": [names for names in groups if names]}


def modes(file: KernelFile) -> dict:
    """What each case says beside sizes (dtype, view, flags): cases that say the same differ in sizes alone."""
    defaults, found = _defaults(file), {}
    for name, case in file.cases.items():
        said = {**defaults, **case}
        found[name] = repr(sorted((key, repr(value)) for key, value in said.items() if not _is_size(value)))
    return {"modes": found}


def with_integers(file: KernelFile, cases: list[str], limit: int) -> dict:
    """Those of the cases whose inputs take at most ``limit`` bytes and hold tensors of integers or booleans."""
    found = []
    for case in cases:
        with suppress(Exception):  # whatever get_inputs raises: the case's own trials will say so
            inputs = file.get_inputs(**file.cases[case])
            dtypes = {tensor.dtype for tensor in leaves(inputs, all_tensors=True)}
            has_integers = any(not (dtype.is_floating_point or dtype.is_complex) for dtype in dtypes)
            if has_integers and values.reached_bytes(inputs) <= limit:
                found.append(case)
    return {"cases": found}


def with_views(file: KernelFile, cases: list[str], limit: int) -> dict:
    """Those of the cases whose inputs take at most ``limit`` bytes and are views (layouts.py)."""
    found = []
    for case in cases:
        with suppress(Exception):  # whatever get_inputs raises: the case's own trials will say so
            inputs = file.get_inputs(**file.cases[case])
            if layouts.are_views(inputs) and values.reached_bytes(inputs) <= limit:
                found.append(case)
    return {"cases": found}


def with_squares(file: KernelFile, cases: list[str], limit: int) -> dict:
    """Those of the cases whose inputs take at most ``limit`` bytes and hold two square matrices (layouts.py)."""
    found = []
    for case in cases:
        with suppress(Exception):  # whatever get_inputs raises: the case's own trials will say so
            inputs = file.get_inputs(**file.cases[case])
            if values.reached_bytes(inputs) <= limit and layouts.mirrored(inputs):
                found.append(case)
    return {"cases": found}


def _is_size(value) -> bool:
    return type(value) is int or (isinstance(value, (tuple, list)) and all(type(n) is int for n in value))


def _defaults(file: KernelFile) -> dict:
    parameters = inspect.signature(file.get_inputs).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def default_sizes(file: KernelFile) -> dict:
    """The keywords of get_inputs that have integers, tuples or lists as defaults, with those."""
    return {name: value for name, value in _defaults(file).items() if isinstance(value, (int, tuple, list))}


def _bytes_with(file: KernelFile, keywords: dict) -> int:
    return values.reached_bytes(file.get_inputs(**keywords))


QUESTIONS = {
    function.__name__: function
    for function in (nbytes, shrink, resize, add_between, add_unset, modes, with_integers, with_views, with_squares)
}
