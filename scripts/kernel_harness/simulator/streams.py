"""Streams and events of the simulated device: launches run at once, and what waits for what is kept.

A call belongs to the stream that is current when it begins. Work that it puts on another stream must begin after what
the caller's stream holds, and the caller's stream, or the host, must wait for its end.
"""

import contextlib
import sys
import sysconfig
import time
from collections import Counter
from pathlib import Path

from .findings import Finding

_NOT_THE_AUTHORS = ("<", str(Path(__file__).parents[1]), sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"))

_HOST = object()  # beside the streams: what the host waited for comes before whatever it gives to any of them


class Streams:
    """Vector clocks: how many pieces of work of each stream come before what a stream, or the host, does next."""

    def __init__(self):
        self.findings = []
        self._given, self._seen = Counter(), {_HOST: Counter()}
        self.default, self.caller, self._former = Stream(self), Stream(self), Stream(self)
        self.current, self._begun = self.caller, 0
        self._last = {}  # the last work of this call on each other stream: its name and place

    def enrol(self, stream):
        """A number of its own for a new stream."""
        self._seen[stream] = Counter()
        return len(self._seen)

    def by_handle(self, handle):
        """The stream with this handle; of 0 the current one: Triton and CUDA C++, who ask for it, are told 0."""
        return next((s for s in self._seen if s is not _HOST and s.cuda_stream == handle), self.current)

    def current_handle(self, index=0):
        """torch._C._cuda_getCurrentRawStream"""
        return self.current.cuda_stream

    def begin(self):
        """A call begins, on another stream than the last one, and its inputs may still be on their way."""
        self.host_waits()  # for the calls before: their callers have looked at the results
        self.caller, self._former = self._former, self.caller
        self.findings, self._last, self.current = [], {}, self.caller
        self._given[self.caller] += 1
        self._begun = self._given[self.caller]

    def work(self, name, stream=None):
        """A piece of work is given to a stream, the current one by default."""
        stream = stream or self.current
        self._seen[stream] |= self._seen[_HOST]
        self._given[stream] += 1
        if stream is not self.caller:
            self._last[stream] = name, *_place()
            if self._seen[stream][self.caller] < self._begun:
                message = (
                    "runs on another stream than the call's and does not wait for it: its inputs may not be there "
                    "yet; side.wait_stream(torch.cuda.current_stream()) comes first"
                )
                if stream is self.default:
                    message = (
                        "runs on the default stream, not on the call's: its inputs may not be there yet; launch it "
                        "with stream=; make_fake_stream(use_tvm_ffi_env_stream=True) stands for it at compilation"
                    )
                elif stream is self._former:
                    message = (
                        "runs on the stream of an earlier call, not on this call's: its inputs may not be there yet; "
                        "ask for torch.cuda.current_stream() in each call, or compile with "
                        "make_fake_stream(use_tvm_ffi_env_stream=True)"
                    )
                self._find(message, *self._last[stream])

    def end(self):
        """The call returned: what it left on other streams comes before what the caller's stream is given next."""
        for stream, last in self._last.items():
            if self.clock(self.caller)[stream] < self._given[stream]:
                message = (
                    "runs on another stream than the call's, which does not wait for it: the result may be read "
                    "before it is there; torch.cuda.current_stream().wait_stream(side) comes last"
                )
                self._find(message, *last)

    def clock(self, stream):
        """What is done when all that ``stream`` holds now is done."""
        return self._seen[stream] | self._seen[_HOST] | Counter({stream: self._given[stream]})

    def wait(self, stream, clock):
        """What ``stream`` is given from now on comes after what ``clock`` holds."""
        self._seen[stream] |= clock

    def host_waits(self, clock=None):
        """For what ``clock`` holds, or for all that was given to any stream."""
        self._seen[_HOST] |= self._given if clock is None else clock

    @contextlib.contextmanager
    def on(self, stream):
        """torch.cuda.stream"""
        before, self.current = self.current, stream or self.current
        try:
            yield stream
        finally:
            self.current = before

    def set_current(self, stream):
        self.current = stream

    def _find(self, message, name, file, line):
        self.findings.append(Finding("unordered-stream", message, file, line, name, (), ()))


def _place():
    """File and line of the innermost call that is neither a library's nor the simulator's."""
    frame = sys._getframe(2)
    while frame and frame.f_code.co_filename.startswith(_NOT_THE_AUTHORS):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame else (None, None)


class Stream:
    """What torch.cuda.Stream offers."""

    def __init__(self, streams, priority=0):
        import torch

        self._streams, self._entered = streams, []
        self.stream_id, self.priority, self.device = streams.enrol(self), priority, torch.device("cuda", 0)
        self.cuda_stream = 0x5000 + 16 * self.stream_id

    def __enter__(self):
        self._entered.append(self._streams.on(self))
        return self._entered[-1].__enter__()

    def __exit__(self, *failure):
        return self._entered.pop().__exit__(*failure)

    def synchronize(self):
        self._streams.host_waits(self._streams.clock(self))

    def wait_stream(self, other):
        self._streams.wait(self, self._streams.clock(other))

    def wait_event(self, event):
        event.wait(self)

    def query(self):
        return True

    def record_event(self, event=None):
        event = event or Event(self._streams)
        event.record(self)
        return event


class Event:
    """What torch.cuda.Event offers."""

    def __init__(self, streams):
        self._streams, self._clock, self.seconds = streams, Counter(), time.perf_counter()

    def record(self, stream=None):
        self.seconds, self._clock = time.perf_counter(), self._streams.clock(stream or self._streams.current)

    def wait(self, stream=None):
        self._streams.wait(stream or self._streams.current, self._clock)

    def synchronize(self):
        self._streams.host_waits(self._clock)

    def query(self):
        return True

    def elapsed_time(self, end):
        return 1e3 * (end.seconds - self.seconds)
