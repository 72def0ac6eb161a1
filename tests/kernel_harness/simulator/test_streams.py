"""Work on streams of a kernel's own: which order of waits is enough, and which finding the others get."""

import pytest
import torch
from kernel_harness.simulator.streams import Event, Stream, Streams

pytestmark = pytest.mark.cpu


class Device:
    """A call of one launch on a side stream, and what may stand before and after it."""

    def __init__(self):
        self.streams = Streams()
        self.side, self.other = Stream(self.streams), Stream(self.streams)

    def call(self, before, after):
        streams = self.streams
        streams.begin()
        before(self, streams.current)
        with self.side:
            streams.work("kernel")
        after(self, streams.current)
        streams.end()
        return [str(finding) for finding in streams.findings]


def nothing(device, main):
    pass


def wait_by_event(waiting, recording):
    event = Event(waiting._streams)
    event.record(recording)
    event.wait(waiting)


BEFORE = {
    "wait_stream": lambda device, main: device.side.wait_stream(main),
    "event": lambda device, main: wait_by_event(device.side, main),
    "by way of another": lambda device, main: (device.other.wait_stream(main), device.side.wait_stream(device.other)),
    "the host waits": lambda device, main: main.synchronize(),
    "the host waits for all": lambda device, main: device.streams.host_waits(),
}
AFTER = {
    "wait_stream": lambda device, main: main.wait_stream(device.side),
    "event": lambda device, main: main.wait_event(device.side.record_event()),
    "by way of another": lambda device, main: (device.other.wait_stream(device.side), main.wait_stream(device.other)),
    "the host waits": lambda device, main: device.side.synchronize(),
    "the host waits for an event": lambda device, main: device.side.record_event().synchronize(),
}
LATE, EARLY = "its inputs may not be there yet", "the result may be read before it is there"


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("before", BEFORE)
def test_joined_on_both_sides(before, after):
    device = Device()
    assert [device.call(BEFORE[before], AFTER[after]) for _ in range(2)] == [[], []]


@pytest.mark.parametrize("before", BEFORE)
def test_the_caller_does_not_wait(before):
    device = Device()
    for _ in range(2):
        (finding,) = device.call(BEFORE[before], nothing)
        assert EARLY in finding
        assert f"{__file__}:" in finding


@pytest.mark.parametrize("after", AFTER)
def test_the_side_stream_does_not_wait(after):
    """Nor is it enough that it waited in the call before."""
    device = Device()
    device.call(BEFORE["wait_stream"], AFTER["wait_stream"])
    (finding,) = device.call(nothing, AFTER[after])
    assert LATE in finding


def test_an_event_that_was_recorded_too_early():
    early = {}
    device = Device()
    before = lambda device, main: (BEFORE["event"](device, main), early.update(event=device.side.record_event()))
    (finding,) = device.call(before, lambda device, main: main.wait_event(early["event"]))
    assert EARLY in finding


def test_the_default_stream_is_not_the_callers():
    device = Device()
    device.side = device.streams.default
    assert len(device.call(nothing, nothing)) == 2
    assert device.call(BEFORE["wait_stream"], AFTER["wait_stream"]) == []


def test_the_stream_of_an_earlier_call_is_not_this_ones():
    """Each call has another stream: one that is kept from the first call, as with what it compiled, shows."""
    streams, kept = Streams(), None
    for is_late in (False, True, False):
        streams.begin()
        kept = kept or streams.current_handle()
        streams.work("kernel", streams.by_handle(kept))
        streams.work("kernel", streams.by_handle(streams.current_handle()))
        streams.end()

        assert ["the stream of an earlier call" in str(finding) for finding in streams.findings][:1] == [True] * is_late


def test_work_on_the_callers_stream_and_by_handle():
    streams = Streams()
    streams.begin()
    side = Stream(streams)
    streams.work("kernel", streams.by_handle(0))
    streams.work("kernel", streams.by_handle(streams.current.cuda_stream))
    assert streams.by_handle(side.cuda_stream) is side
    with streams.on(side):
        assert streams.by_handle(0) is streams.current is side
    with streams.on(None):
        streams.work("kernel")
    streams.end()
    assert streams.findings == []
    assert torch.device("cuda", 0) == side.device
