"""Further cases of a file, as get_inputs makes them."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from kernel_harness.inputs import case_sizes

pytestmark = pytest.mark.cpu


def test_sizes_that_might_take_all_memory_are_not_tried():
    asked = []

    def get_inputs(m=64, n=64):
        asked.append(m * n)
        return [torch.empty(m, n)]

    cases = {"default": {}, "tall": {"m": 1 << 20, "n": 8}, "wide": {"m": 4, "n": 1 << 20}}
    file = SimpleNamespace(get_inputs=get_inputs, cases=cases, bench_cases={}, path=Path(__file__))
    groups = case_sizes.add_between(file, limit=2**25)["groups"]

    assert max(asked) <= 2**25
    assert any(case.startswith("m=524288 beside m=524288, n=8") for group in groups for case in group)


def test_cases_of_one_mode_differ_in_sizes_alone():
    cases = {"default": {}, "large": {"shape": (1000, 8)}, "half": {"dtype": torch.float16}, "flag": {"causal": True},
             "same": {"causal": True, "shape": (3, 3)}}  # fmt: skip
    file = SimpleNamespace(get_inputs=lambda shape=(4, 4), dtype=None, causal=False: [], cases=cases)
    modes = case_sizes.modes(file)["modes"]

    assert modes["default"] == modes["large"]
    assert modes["flag"] == modes["same"]
    assert len(set(modes.values())) == 3


def test_cases_with_integers_are_found_among_the_small_ones():
    def get_inputs(n=8, masked=False):
        return [torch.empty(n), torch.zeros(n, dtype=torch.bool) if masked else None]

    cases = {"default": {}, "masked": {"masked": True}, "large": {"masked": True, "n": 1 << 20}, "broken": {"m": 1}}
    file = SimpleNamespace(get_inputs=get_inputs, cases=cases, bench_cases={}, path=Path(__file__))

    assert case_sizes.with_integers(file, list(cases), limit=2**20) == {"cases": ["masked"]}


def test_a_size_at_which_get_inputs_makes_the_gpu_fault_is_named_and_left_out_when_asked(monkeypatch):
    """An index out of bounds shows at the next wait, and every later question to the process fails."""
    broken = []

    def synchronize():
        if broken:
            raise RuntimeError("CUDA error: device-side assert triggered")

    def get_inputs(n=8):
        broken.extend([n] if n == 99 else [])
        return [torch.empty(n)]

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    cases = {"default": {}, "large": {"n": 100}}
    file = SimpleNamespace(get_inputs=get_inputs, cases=cases, bench_cases={}, path=Path(__file__))

    with pytest.raises(case_sizes.DeviceLost) as lost:
        case_sizes.add_between(file, limit=1000)
    broken.clear()  # another process
    found = case_sizes.add_between(file, limit=1000, without=[lost.value.case])

    assert "n=99" not in str(found)
    assert found["groups"]


def far_of(reference_fn, limit=2**23):
    file = SimpleNamespace(get_inputs=lambda n=64: [torch.rand(n)], reference_fn=reference_fn,
                           cases={"default": {}, "odd": {"n": 7}}, bench_cases={}, path=Path(__file__))  # fmt: skip
    return [file.cases[name]["n"] for [name, *_] in case_sizes.add_between(file, limit=2**20, far_limit=limit)["far"]]


def test_a_far_size_is_the_largest_that_the_reference_answers_soon_and_with_little():
    def slow(x):
        for _ in x:
            torch.eye(300) @ torch.eye(300)
        return x

    assert far_of(torch.exp) == [1048577]
    assert far_of(torch.exp, limit=2**17) == [16385], "131073 elements are more bytes"
    assert far_of(lambda x: x[:, None] * x, limit=2**25) == [2049], "the square of 16385 elements is 1 GB"
    assert far_of(slow) == [], "one that does not end soon is stopped"


def test_sizes_that_the_reference_refuses_are_passed_over():
    def even_pages(x):
        if len(x) == 2049:
            raise ValueError("not this one")
        return x

    def small_alone(x):
        if len(x) > 4000:
            raise ValueError("at most 4000")
        return x

    assert far_of(even_pages) == [1048577]
    assert far_of(small_alone) == [2049]
