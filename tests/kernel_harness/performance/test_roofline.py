"""Floors, limits and refusals follow from ceilings by arithmetic that can be checked by hand."""

import pytest
import torch
from kernel_harness.inputs import input_sets
from kernel_harness.performance import roofline
from kernel_harness.performance.roofline import Ceilings
from kernel_harness.performance.timing import HostTimer

pytestmark = pytest.mark.cpu

CEILINGS = Ceilings(copy=4.0e12, read=4.2e12, write=4.1e12, flops=700e12, flops_of="bfloat16", launch_us=1.0,
                    l2_bytes=60_000_000)


def facts(bytes_moved, flops=None, output_bytes=0, counted=True):
    """What a contender reports of a case."""
    return {"bytes_moved": bytes_moved, "bytes_are_counted": counted, "output_bytes": output_bytes, "flops": flops}


def test_memory_bound_kernel_is_held_against_the_fastest_traffic():
    placed = roofline.place(200.0, facts(420_000_000), CEILINGS)
    assert placed.limit == "memory"
    assert placed.floor_us == pytest.approx(100)
    assert placed.percent == pytest.approx(50)
    assert placed.bytes_per_second == pytest.approx(2.1e12)
    assert placed.refusal is None


def test_compute_bound_kernel_is_held_against_the_matrix_product():
    placed = roofline.place(200.0, facts(4_000_000, flops=70e9), CEILINGS)
    assert (placed.limit, placed.refusal) == ("compute", None)
    assert placed.percent == pytest.approx(50)


def test_tiny_kernel_is_held_against_the_shortest_launch():
    placed = roofline.place(2.0, facts(4_000), CEILINGS)
    assert placed.limit == "launch"
    assert placed.percent == pytest.approx(50)


def test_faster_than_memory_is_refused():
    placed = roofline.place(50.0, facts(480_000_000), CEILINGS)
    assert "faster than physics: 480,000,000 bytes" in placed.refusal
    assert "bytes_moved() counts too much" in placed.refusal


def test_what_may_stay_in_the_cache_refuses_nothing():
    assert roofline.place(5.0, facts(60_000_000), CEILINGS).refusal is None


def test_inputs_that_nobody_counted_refuse_nothing():
    gather = facts(4_000_000_000, output_bytes=1_000, counted=False)
    assert roofline.place(5.0, gather, CEILINGS).refusal is None


def test_outputs_must_be_written_whoever_counts():
    lazy = facts(4_000_000_000, output_bytes=2_000_000_000, counted=False)
    assert "faster than physics" in roofline.place(5.0, lazy, CEILINGS).refusal


def test_faster_than_the_matrix_product_is_refused():
    placed = roofline.place(50.0, facts(4_000, flops=70e9), CEILINGS)
    assert "flops() counts too much" in placed.refusal


def test_ceilings_can_be_measured_on_any_device():
    found = roofline.measure(HostTimer(), "cpu", "float32")
    assert min(found.copy, found.read, found.write, found.flops, found.launch_us) > 0
    assert Ceilings(**found.to_json()) == found


def test_the_ceiling_is_that_of_what_the_product_is_computed_in():
    """An int8 GEMM with scales was refused: 1532 TFLOP/s, where a float32 product reaches 51."""
    int8, scale, bias = (torch.zeros(64, 64, dtype=torch.int8), torch.ones(64), torch.ones(64, dtype=torch.bfloat16))
    wide = bias.expand(64, 64)

    assert input_sets.product_dtype([int8, scale, int8.clone(), scale, bias]) is torch.int8
    assert input_sets.product_dtype([wide, int8]) is torch.bfloat16  # weights of eight bits are converted
    assert input_sets.product_dtype([wide, wide, scale, scale]) is torch.bfloat16
    assert input_sets.product_dtype([torch.zeros(4, dtype=torch.int64)]) is None


def test_the_ceiling_of_int8_is_no_less_than_twice_that_of_bfloat16(monkeypatch):
    """PyTorch's int8 product is slower than that: a right kernel was refused for being faster."""
    rates = {torch.bfloat16: 800e12, torch.int8: 970e12}
    monkeypatch.setattr(roofline, "_product", lambda torch, device, dtype, size: (dtype, size))
    monkeypatch.setattr(roofline, "_best", lambda timer, call: 2e6 * call[1] ** 3 / rates[call[0]])

    assert roofline._matrix_flops(None, "cuda", torch.int8) == pytest.approx(1600e12)
    rates[torch.int8] = 1900e12
    assert roofline._matrix_flops(None, "cuda", torch.int8) == pytest.approx(1900e12)
