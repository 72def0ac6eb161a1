"""Device records become calls, clocks are named, inputs stay cold; nothing here needs a GPU."""

import ctypes
import struct

import pytest
import torch
from kernel_harness.inputs import input_sets
from kernel_harness.performance import cupti, timing
from kernel_harness.performance.cupti import CONCURRENT_KERNEL, MEMCPY, MEMSET, Activity

pytestmark = pytest.mark.cpu

FIRST = timing.MARKER + 40


def marker(index, at, correlation):
    """The record of marker ``index`` of a burst."""
    return Activity(MEMSET, "[memset]", at, at + 1000, 7, correlation, (FIRST + index, 4))


def kernel(name, start, end, correlation, stream=7):
    """The record of a kernel of one block."""
    return Activity(CONCURRENT_KERNEL, name, start, end, stream, correlation, (1, 1, 1, 128, 1, 1))


def test_records_are_split_at_the_markers_of_this_burst():
    records = [
        kernel("warm-up", 0, 5, 1),
        marker(0, 10_000, 2), kernel("a", 12_000, 20_000, 3), kernel("b", 21_000, 30_000, 4), marker(1, 31_000, 5),
        kernel("fingerprint", 33_000, 34_000, 6), Activity(MEMSET, "[memset]", 34_500, 34_600, 7, 7, (0, 4)),
        marker(2, 40_000, 8), kernel("a", 42_000, 50_000, 9), marker(3, 51_000, 10),
        kernel("flush", 60_000, 70_000, 11),
    ]
    first, second = timing.split_by_markers(records, FIRST, 2)
    assert [activity.name for activity in first] == ["[memset]", "a", "b", "[memset]"]
    assert [activity.name for activity in second] == ["[memset]", "a", "[memset]"]


def test_missing_markers_are_an_error_and_never_a_time():
    with pytest.raises(cupti.CuptiUnavailable, match="only 1 of 2 markers"):
        timing.split_by_markers([marker(0, 0, 1), kernel("a", 1, 2, 2)], FIRST, 1)


def test_device_time_spans_all_streams_and_gaps():
    window = [marker(0, 0, 1), kernel("a", 2_000, 10_000, 2), kernel("b", 4_000, 30_000, 3, stream=9),
              marker(1, 31_000, 4)]
    call = timing._measured(window, 33.0, 5.0)
    assert call.device_us == 28.0
    assert (call.streams, call.overhang_us, sum(call.launches.values())) == (2, 0.0, 2)


def test_work_past_the_stop_marker_is_an_overhang():
    window = [marker(0, 0, 1), kernel("side", 2_000, 50_000, 2, stream=9), marker(1, 3_000, 3)]
    assert timing._measured(window, 1.0, 5.0).overhang_us == 47.0


def test_a_call_without_work_has_no_time():
    call = timing._measured([marker(0, 0, 1), marker(1, 2_000, 2)], 1.0, 5.0)
    assert (call.device_us, sum(call.launches.values())) == (0.0, 0)


def test_kernel_record_is_read_by_its_offsets():
    name = ctypes.create_string_buffer(b"my_kernel")
    record = ctypes.create_string_buffer(208)
    struct.pack_into("<I", record, 0, CONCURRENT_KERNEL)
    struct.pack_into("<H", record, 6, 168)
    struct.pack_into("<QQ", record, 16, 1_000, 3_500)
    struct.pack_into("<I6i", record, 48, 13, 132, 1, 1, 384, 1, 1)
    struct.pack_into("<ii", record, 76, 1_024, 200_000)
    struct.pack_into("<IqQ", record, 92, 77, 5, ctypes.addressof(name))
    shape = (132, 1, 1, 384, 1, 1)
    assert cupti._decode(ctypes.addressof(record)) == Activity(
        CONCURRENT_KERNEL, "my_kernel", 1_000, 3_500, 13, 77, shape, registers=168, shared_bytes=201_024)


@pytest.mark.parametrize(("kind", "shape"), [(MEMSET, (9, 4)), (MEMCPY, (4,))])
def test_copy_and_memset_records_are_read_by_their_offsets(kind, shape):
    record = ctypes.create_string_buffer(96)
    struct.pack_into("<IIQQQ", record, 0, kind, 9, 4, 100, 200)
    struct.pack_into("<II", record, 40, 13, 77)
    activity = cupti._decode(ctypes.addressof(record))
    assert (activity.start_ns, activity.end_ns, activity.stream, activity.correlation) == (100, 200, 13, 77)
    assert activity.shape == shape


def test_other_records_are_passed_over():
    record = ctypes.create_string_buffer(struct.pack("<I", 17) + bytes(60))
    assert cupti._decode(ctypes.addressof(record)) is None


def test_host_timer_times_the_call_and_nothing_else():
    order = []
    burst = timing.HostTimer().burst(lambda i: order.append(f"call {i}"), 2, lambda i: order.append("before"),
                                     lambda i, _: order.append("after"))
    assert order == ["before", "call 0", "after", "before", "call 1", "after"]
    assert all(call.device_us == call.host_us < 1000 for call in burst.calls)


def test_methods_are_named_and_refused_in_a_sentence():
    assert timing.open_timer("cpu").method == "perf_counter"
    with pytest.raises(timing.TimingUnavailable, match="needs tensors on a GPU"):
        timing.open_timer("cpu", "cupti")
    with pytest.raises(timing.TimingUnavailable, match="a call returns before the device"):
        timing.open_timer("cuda", "perf_counter")
    with pytest.raises(timing.TimingUnavailable, match="choose one of cupti"):
        timing.open_timer("cpu", "stopwatch")


@pytest.mark.parametrize(("set_mib", "room_mib", "sets", "flush"), [
    (100, 10_000, 3, False),      # three times 60 MiB of L2 pass before a set comes round again
    (1_000, 10_000, 2, False),    # the tail of a large set would still be there at its next use
    (10, 10_000, 19, False),
    (1, 10_000, 8, True),         # 181 sets: drawing them costs more than a flush
    (20_000, 30_000, 1, True),    # memory holds one set
])
def test_rotation_covers_the_cache_or_flushes_it(set_mib, room_mib, sets, flush):
    plan = input_sets.plan_rotation(set_mib << 20, 60 << 20, room_mib << 20)
    assert (plan.sets, plan.flush) == (sets, flush)
    assert ("flush" in plan.reason) is flush


def test_overwriting_keeps_pointer_and_version():
    tensor = torch.zeros(4)
    sets = input_sets.InputSets([[tensor, 2.0]])
    before = (tensor.data_ptr(), tensor._version)
    sets.overwrite(0, [torch.ones(4), 3.0])
    assert (tensor.data_ptr(), tensor._version) == before
    assert tensor.tolist() == [1, 1, 1, 1]
    assert sets[0][1] == 3.0


def test_expanded_inputs_are_overwritten_once():
    row = torch.zeros(4)
    sets = input_sets.InputSets([[row.expand(3, 4)]])
    sets.overwrite(0, [torch.arange(4.0).expand(3, 4)])
    assert row.tolist() == [0, 1, 2, 3]


def test_mutated_inputs_are_put_back():
    sets = input_sets.InputSets([[torch.ones(4)]], mutates={0})
    sets[0][0].zero_()
    sets.restore(0)
    assert sets[0][0].tolist() == [1, 1, 1, 1]
    sets.overwrite(0, [torch.full((4,), 5.0)])
    sets[0][0].zero_()
    sets.restore(0)
    assert sets[0][0].tolist() == [5, 5, 5, 5]


def test_inputs_that_ignore_the_seed_are_noticed_and_scaled():
    assert input_sets.ignores_seed(lambda: [torch.ones(3)], {})
    assert not input_sets.ignores_seed(lambda: [torch.randn(3)], {})
    ones, count = input_sets.scaled([torch.ones(3), 7], seed=1)
    assert 0.5 <= ones[0] < 1
    assert count == 7
    assert input_sets.scale_factor(1) != input_sets.scale_factor(2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.bool,
                                   torch.complex64])
def test_fingerprints_see_one_changed_element(dtype):
    tensor = torch.ones(4, 8).to(dtype).mT
    before = input_sets.fingerprint([tensor]).tolist()
    tensor[2, 1] = 0
    assert input_sets.fingerprint([tensor]).tolist() != before
    assert input_sets.fingerprint([]) is None


def test_tensors_are_found_in_nested_results():
    a, b = torch.zeros(2), torch.zeros(3)
    assert [t.numel() for t in input_sets.tensors_in((a, {"lse": [b]}, None, 3))] == [2, 3]
    assert input_sets.tensor_bytes([a, b]) == 20


def test_a_cpu_says_that_nothing_is_flushed():
    plan = input_sets.plan_rotation(1 << 10, 32 << 20, 1 << 30, flushes=False)
    assert not plan.flush
    assert "a CPU's caches may be warm" in plan.reason


def test_changed_inputs_are_flushed_after_they_are_put_back():
    assert input_sets.plan_rotation(100 << 20, 60 << 20, 10 << 30, mutates=True).flush


def test_bursts_are_bounded_by_queue_memory_and_budget():
    def calls(launches=1, output_bytes=1, room_bytes=1 << 30, call_us=10.0, budget_s=3.0):
        return input_sets.burst_calls(launches, output_bytes, room_bytes, call_us, budget_s)

    assert calls() == 12
    assert calls(launches=138) == 6
    assert calls(output_bytes=1 << 28) == 4
    assert calls(call_us=10_000.0) == 4
    assert calls(call_us=1e9) == 2
