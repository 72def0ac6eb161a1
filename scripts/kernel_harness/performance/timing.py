"""The timing engine: what one burst of calls cost, by clocks that a kernel file cannot reach (torch, lazily).

A burst is a handful of calls in a row, enqueued behind a GPU-side sleep so that the host stays ahead of the
device: the stream never starves, and no gap of the host is timed as work of the kernel. Of each call it measures

    device_us    first start to last end of all that the call put on the device, on every stream (CUPTI)
    event_us     between two CUDA events on the current stream
    host_us      from entering the call to its return
    overhang_us  how far that work ran on past the point in the stream where the call was over (CUPTI)

Without CUPTI the events are the result, on the CPU the host clock is. The method is part of the result, and a
fallback carries its reason. references/benchmarking.md explains each choice.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .cuda_driver import Driver
from .cupti import CONCURRENT_KERNEL, MEMSET, Activity, Cupti, CuptiUnavailable

METHODS = ("cupti", "cuda-events", "perf_counter")
LONGEST_BACKLOG_US = 50_000
SLEEP_CYCLES_PER_US = 2000   # of the sleep kernel: at least any current GPU's boost clock, so none is too short
MARKER = 0x5EED0000   # high half of every marker's value; the low half counts
_now_ns = time.perf_counter_ns   # bound before any kernel file is imported


class TimingUnavailable(RuntimeError):
    """The method that was asked for cannot be used here; one sentence says why."""


@dataclass(frozen=True)
class Call:
    """One timed call. ``launches`` counts the (name, grid and block) of what it put on the device."""

    device_us: float
    event_us: float | None
    host_us: float
    overhang_us: float = 0.0
    launches: Counter = field(default_factory=Counter)
    streams: int = 1
    activities: tuple[Activity, ...] = ()


@dataclass(frozen=True)
class Burst:
    """Calls that ran back to back. ``starved``: the device caught up with the host, so times may hold host gaps."""

    calls: tuple[Call, ...]
    starved: bool
    enqueue_us: float
    persisting_l2_bytes: int = 0


class HostTimer:
    """Wall-clock times of kernels that run on the CPU."""

    method, note = "perf_counter", "timed on the CPU by the host clock"
    l2_bytes = 32 << 20   # stands in for the last-level cache; rotation works the same way

    def flush(self) -> None:
        """Nothing: on a CPU the rotation alone keeps inputs cold."""

    def synchronize(self) -> None:
        """Nothing: a CPU call is done when it returns."""

    def burst(self, call: Callable[[int], object], count: int, before=None, after=None) -> Burst:
        """Time ``call(0)`` to ``call(count - 1)``; ``before(i)`` and ``after(i, result)`` run outside the clock."""
        calls = []
        entered = _now_ns()
        for index in range(count):
            if before is not None:
                before(index)
            start = _now_ns()
            result = call(index)
            elapsed_us = (_now_ns() - start) / 1e3
            if after is not None:
                after(index, result)
            calls.append(Call(elapsed_us, None, elapsed_us, launches=Counter({("[host]", ()): 1})))
        return Burst(tuple(calls), False, (_now_ns() - entered) / 1e3)

    def host_us(self, call: Callable[[int], object], count: int) -> list[float]:
        """On a CPU the host time is the time."""
        return [one.host_us for one in self.burst(call, count).calls]


class GpuTimer:
    """Device times of the current CUDA device. Make it before a kernel file is imported: it binds its clocks then."""

    def __init__(self, method: str | None = None):
        import torch

        torch.cuda.init()
        self._device = torch.cuda.current_device()
        self._current_stream = torch._C._cuda_getCurrentRawStream
        self._sleep = torch._C._cuda_sleep
        self.l2_bytes = torch.cuda.get_device_properties(self._device).L2_cache_size
        self._word = torch.zeros(1, dtype=torch.int32, device="cuda")
        self._wash, self._marks, self._backlog_us = None, 0, 200.0
        self._driver = Driver()
        self._asleep, self._events = self._driver.event(), []
        self._cupti, self.method, self.note = None, "cuda-events", ""
        if method in (None, "cupti"):
            try:
                self._cupti = Cupti()
                self._cupti.record(True)
                self._prove_cupti(torch)
                self.method = "cupti"
            except CuptiUnavailable as error:
                self._cupti = None
                if method == "cupti":
                    raise TimingUnavailable(f"CUPTI cannot be used: {error}.") from error
                self.note = f"timed by CUDA events, because CUPTI cannot be used: {error}"

    def _prove_cupti(self, torch) -> None:
        """Its reading of one fill kernel must be one launch of plausible length, or CUPTI is not trusted."""
        target = torch.empty(1 << 20, dtype=torch.float32, device="cuda")
        target.fill_(1.0)
        for call in self.burst(lambda _: target.fill_(2.0), 3).calls:
            if sum(call.launches.values()) != 1 or not 0.2 < call.device_us < 1000:
                raise CuptiUnavailable("its records do not describe a known kernel (a profiler may hold the device)")

    def synchronize(self) -> None:
        """Wait for every stream of the device."""
        self._driver.synchronize()

    def flush(self) -> None:
        """Evict the L2 by reading three times its size: clean lines, no write-back falls into the next call."""
        import torch

        if self._wash is None:
            self._wash = torch.zeros(3 * self.l2_bytes // 4, dtype=torch.float32, device="cuda")
        self._wash.sum()

    def burst(self, call: Callable[[int], object], count: int, before=None, after=None) -> Burst:
        """Time ``call(0)`` to ``call(count - 1)``; repeated behind a longer sleep when the device caught up.

        ``before(i)`` and ``after(i, result)`` enqueue work (flushes, fresh values, fingerprints) outside the timed
        windows; they must bear repetition. A call that waits for the device outlasts any sleep: such a burst
        stays ``starved``.
        """
        for _ in range(3):
            burst, slept_us = self._burst(call, count, before, after), self._backlog_us
            self._backlog_us = min(1.5 * burst.enqueue_us + 100, LONGEST_BACKLOG_US)
            if not burst.starved or slept_us >= LONGEST_BACKLOG_US:
                break
            self._backlog_us = min(max(self._backlog_us, 1.5 * slept_us), LONGEST_BACKLOG_US)
        return burst

    def _burst(self, call, count, before, after) -> Burst:
        driver, device, stream_of = self._driver, self._device, self._current_stream
        while len(self._events) < 2 * count:
            self._events.append(driver.event())
        driver.synchronize()
        if driver.persisting_l2_bytes():
            driver.drop_persisting_l2()
        word, host_us, first = self._word.data_ptr(), [], MARKER + self._marks
        entered = _now_ns()
        self._sleep(int(self._backlog_us * SLEEP_CYCLES_PER_US))
        driver.record(self._asleep, stream_of(device))
        for index in range(count):
            if before is not None:
                before(index)
            stream = stream_of(device)
            driver.mark(word, first + 2 * index, stream)
            driver.record(self._events[2 * index], stream)
            start = _now_ns()
            result = call(index)
            host_us.append((_now_ns() - start) / 1e3)
            stream = stream_of(device)
            driver.record(self._events[2 * index + 1], stream)
            driver.mark(word, first + 2 * index + 1, stream)
            if after is not None:
                after(index, result)
            del result
        starved = driver.is_done(self._asleep)
        enqueue_us = (_now_ns() - entered) / 1e3
        driver.synchronize()
        self._marks = (self._marks + 2 * count) % 0x8000
        event_us = [driver.elapsed_us(*self._events[2 * index:2 * index + 2]) for index in range(count)]
        persisting = driver.persisting_l2_bytes()
        if self._cupti:
            windows = split_by_markers(self._cupti.collect(), first, count)
            calls = tuple(map(_measured, windows, event_us, host_us))
        else:
            calls = tuple(Call(event, event, host) for event, host in zip(event_us, host_us, strict=True))
        return Burst(calls, starved, enqueue_us, persisting)

    def host_us(self, call: Callable[[int], object], count: int) -> list[float]:
        """Host time of each call with recording off: what the launch path costs its caller."""
        if self._cupti:
            self._cupti.record(False)
        times = []
        for index in range(count):
            if index % 32 == 0:
                self._driver.synchronize()   # a full launch queue would be timed instead
            start = _now_ns()
            call(index)
            times.append((_now_ns() - start) / 1e3)
        self._driver.synchronize()
        if self._cupti:
            self._cupti.record(True)
        return times


def split_by_markers(activities: Sequence[Activity], first: int, count: int) -> list[list[Activity]]:
    """The records of each of ``count`` calls, between its two markers, whose values count up from ``first``.

    The order is the host's, not the clock's: work that a call leaves on a side stream counts for the call that
    issued it, however late it runs. The markers are the first and the last record of each window.
    """
    windows: list[list[Activity]] = [[] for _ in range(count)]
    seen = 0
    for activity in activities:
        is_marker = activity.kind == MEMSET and activity.shape == (first + seen, 4)
        if is_marker or seen % 2:
            windows[seen // 2].append(activity)
        seen += is_marker
        if seen == 2 * count:
            return windows
    raise CuptiUnavailable(f"only {seen} of {2 * count} markers came back; the records are incomplete")


def _measured(window: list[Activity], event_us: float, host_us: float) -> Call:
    """A call from its window: device time is last end minus first start; 0 when nothing was launched."""
    *work, stop = window[1:]
    if not work:
        return Call(0.0, event_us, host_us, streams=0)
    end_ns = max(activity.end_ns for activity in work)
    span_us = (end_ns - min(activity.start_ns for activity in work)) / 1e3
    overhang_us = max(0.0, (end_ns - stop.start_ns) / 1e3)
    launches = Counter((a.name, a.shape if a.kind == CONCURRENT_KERNEL else a.shape[-1:]) for a in work)
    return Call(span_us, event_us, host_us, overhang_us, launches, len({a.stream for a in work}), tuple(work))


def open_timer(device: str, method: str | None = None) -> GpuTimer | HostTimer:
    """The timer for tensors on ``device`` ("cuda" or "cpu"); TimingUnavailable when it cannot use ``method``."""
    if method is not None and method not in METHODS:
        raise TimingUnavailable(f"There is no timing method {method!r}; choose one of {', '.join(METHODS)}.")
    if device == "cpu":
        if method not in (None, "perf_counter"):
            raise TimingUnavailable(f"{method} needs tensors on a GPU, and these inputs are on the CPU.")
        return HostTimer()
    if method == "perf_counter":
        raise TimingUnavailable("perf_counter cannot time a GPU: a call returns before the device has worked.")
    return GpuTimer(method)
