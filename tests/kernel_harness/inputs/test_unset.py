"""Keywords of get_inputs that no case sets."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from kernel_harness.inputs import case_sizes
from kernel_harness.inputs.unset import unset

pytestmark = pytest.mark.cpu


def test_flags_and_zeros_that_stand_in_every_case():
    defaults = {"n": 64, "spare": 0, "share": 0.0, "causal": False, "dense": True, "dtype": None, "batch": 1}

    assert unset(defaults, [{}, {"n": 3}]) == [
        [{"spare": 8}, {"spare": 1}], [{"share": 0.5}], [{"causal": True}], [{"dense": False}],
        [{"batch": 2}, {"batch": 3}]]


def test_what_a_case_sets_is_not_asked_for_again():
    assert unset({"causal": False, "spare": 0}, [{}, {"causal": True}, {"spare": 3}]) == []
    assert unset({"causal": False}, [{}, {"causal": False}]) == [[{"causal": True}]]


def test_flags_that_cases_set_one_at_a_time_are_set_together():
    defaults = {"shared": False, "turned": False, "dense": True}
    cases = [{}, {"shared": True}, {"turned": True}, {"shared": True, "dense": False}]

    pairs = [[{"shared": True, "turned": True}], [{"turned": True, "dense": False}]]
    assert unset(defaults, cases) == [[{"shared": False, "dense": False}], *pairs]
    together = {"shared": True, "turned": True, "dense": False}
    assert not any(pair in pairs for pair in unset(defaults, [*cases, together]))


def test_options_of_other_types_are_set_together_as_the_first_case_sets_them():
    defaults = {"rows": 8, "weighted": False, "smoothing": 0.0, "mode": "sum", "dtype": torch.float32, "mask": None}
    cases = [{}, {"weighted": True}, {"smoothing": 0.1, "rows": 9}, {"smoothing": 0.2, "dtype": torch.float16}]

    assert unset(defaults, cases) == [
        [{"weighted": True, "smoothing": 0.1}], [{"weighted": True, "dtype": torch.float16}]]


def test_a_flag_is_set_beside_sequences_that_no_case_has_with_it():
    defaults = {"n": 8, "block": (32, 32), "turned": False}
    cases = [{"block": (8, 8)}, {"block": (1, 32)}, {"turned": True}]

    flagged = [{"block": (1, 32), "turned": True}, {"block": (8, 8), "turned": True}]
    assert unset(defaults, cases) == [flagged]
    assert unset(defaults, [{}, {"turned": True}]) == []


def test_a_format_is_set_beside_larger_numbers_than_cases_have_with_it():
    """Positions beyond what it counts."""
    defaults = {"tokens": 8, "longest": 20, "dtype": torch.float32}
    long, short = {"tokens": 9, "longest": 1000}, {"tokens": 300}

    assert unset(defaults, [{}, short, long, {"tokens": 100, "dtype": torch.float16}]) == [
        [{**long, "dtype": torch.float16}, {**short, "dtype": torch.float16}]]
    assert unset(defaults, [{}, short, {"tokens": 150, "dtype": torch.float16}]) == []


def test_a_dtype_that_the_file_claims_is_set_where_no_case_has_it():
    defaults, cases = {"n": 4, "dtype": torch.bfloat16}, [{}, {"dtype": torch.float16}]
    claimed = [torch.float32, torch.float16, torch.bfloat16]

    assert unset(defaults, cases, claimed) == [[{"dtype": torch.float32}]]
    assert unset(defaults, [*cases, {"dtype": torch.float32}], claimed) == []
    assert unset({**defaults, "weight": torch.int8}, cases, claimed) == [], "which of them is meant?"


def test_cases_are_made_of_what_get_inputs_takes():
    def get_inputs(n=1 << 20, spare=0, causal=False):
        if spare == 8:
            raise ValueError("no room")
        return [torch.empty(n + spare)]

    cases = {"default": {}, "small": {"n": 16}}
    file = SimpleNamespace(get_inputs=get_inputs, cases=cases, path=Path(__file__))

    assert case_sizes.add_unset(file, ["default", "small"], limit=1000) == {
        "groups": [["spare=1, which no case sets"], ["causal=True, which no case sets"]]}
    assert cases["spare=1, which no case sets"] == {"n": 16, "spare": 1}


def test_a_keyword_that_only_the_judges_own_cases_set_is_one_that_no_case_sets():
    cases = {"default": {}, "q=40, k=20": {"batch": 4}}
    file = SimpleNamespace(get_inputs=lambda batch=1: [torch.empty(batch)], cases=cases, path=Path(__file__))

    assert case_sizes.add_unset(file, ["default"], limit=1000) == {
        "groups": [["batch=2, which no case sets", "batch=3, which no case sets"]]}


def test_options_that_a_case_sets_together_are_seen_beside_the_defaults():
    """A ceiling that is right where padding does not count, and with padding is in no case."""
    defaults = {"h": 17, "ceil": False, "padded": True}
    cases = [{}, {"padded": False}, {"ceil": True, "padded": False, "h": 16}]

    assert unset(defaults, cases) == [[{"ceil": True, "padded": True, "h": 16}]]
