"""Many calls on the simulated device, of which only what is new is launched."""

import contextlib
import weakref
from types import SimpleNamespace

import pytest
import torch
from kernel_harness import simulation
from kernel_harness.simulator.streams import Streams

pytestmark = pytest.mark.cpu


class Device:
    """Which knows code by its name."""

    def __init__(self):
        self.streams, self.launches, self.known = Streams(), [], set()
        self.read_only, self.familiar, self.left_out = set(), False, 0

    def launch(self, code):
        if self.familiar and code in self.known:
            self.left_out += 1
        else:
            self.known.add(code)
            self.launches.append(SimpleNamespace(kernel=code))

    @contextlib.contextmanager
    def around(self):
        self.launches.clear()
        yield self


def called(function, device, count=20, mutates=frozenset()):
    return simulation.many_calls(device.around, function, [torch.ones(3)], mutates, count, 10.0)


def test_results_of_calls_that_launch_nothing_but_new_code():
    device, calls = Device(), []

    def kernel(x):
        calls.append(len(calls))
        for code in {8: ("b",), 12: ("a", "c")}.get(len(calls), ("a",)):
            device.launch(code)
        return x + len(calls)

    count, new, is_reused = called(kernel, device)

    assert (count, is_reused) == (20, False)
    assert [(call, result.tolist()) for call, result in new] == [(1, [2.0] * 3), (8, [9.0] * 3)]
    assert not device.familiar


def test_the_memory_of_an_earlier_result():
    ring = [torch.empty(3) for _ in range(7)]

    assert called(lambda x: ring.append(ring.pop(0)) or ring[-1], Device())[::2] == (8, True)


def test_the_memory_of_a_result_of_which_a_view_is_left():
    free = [torch.empty(3), torch.empty(3)]

    def kernel(x):
        memory = free.pop(0) if free else torch.empty(3)
        result = memory.view(3)
        weakref.finalize(result, free.append, memory)
        return result

    assert called(kernel, Device())[::2] == (3, True)


def test_a_constant_that_is_handed_out_each_time_is_no_memory_of_an_earlier_result():
    table = torch.ones(3)

    assert called(lambda x: (x + 1, table), Device())[2] is False


def test_what_changes_its_inputs_has_no_results_to_be_judged():
    """An honest one that tries three configurations adds to the same memory three times."""
    device, calls = Device(), []

    def kernel(x):
        calls.append(len(calls))
        device.launch(f"configuration {min(len(calls) // 5, 2)}")
        return x.add_(1)

    assert called(kernel, device, mutates=frozenset({0})) == (20, [], False)
    device.known.clear()
    assert called(kernel, device)[1] != []
