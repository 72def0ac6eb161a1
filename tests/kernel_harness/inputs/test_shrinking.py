"""Smaller cases from large ones: what is halved, and what keeps its value."""

import math

import pytest
from kernel_harness.inputs.shrinking import changes, shrink

pytestmark = pytest.mark.cpu


def test_the_largest_integers_are_halved_and_odd_ones_stay_odd():
    found = shrink({"m": 4096, "n": 4097, "k": 64}, lambda a: a["m"] * a["k"] + a["n"] * a["k"], 20_000)

    assert found == {"m": 128, "n": 129, "k": 64}


def test_what_makes_the_inputs_no_smaller_keeps_its_value():
    found = shrink({"seed": 2**63, "n": 1000, "flag": True, "name": "x"}, lambda a: 4 * a["n"], 100)

    assert found == {"seed": 2**63, "n": 15, "flag": True, "name": "x"}


def test_what_get_inputs_refuses_keeps_its_value():
    def size_of(a):
        if a["n"] % 128:
            raise ValueError("n must be a multiple of 128")
        return a["m"] * a["n"]

    assert shrink({"m": 1000, "n": 1024}, size_of, 20_000) == {"m": 125, "n": 128}


@pytest.mark.parametrize(
    ("shape", "expected"), [((4096, 8192), (64, 64)), ((3, 5, 2048), (3, 5, 256)), ([70000, 8], [547, 8])]
)
def test_the_largest_numbers_of_a_shape_are_halved(shape, expected):
    assert shrink({"shape": shape}, lambda a: math.prod(a["shape"]), 4400) == {"shape": expected}


def test_numbers_of_a_shape_are_halved_one_at_a_time_where_others_must_stay():
    def size_of(a):
        rows, columns = a["shape"]
        if columns != 1024:
            raise ValueError("other code")
        return rows * columns

    assert shrink({"shape": (1024, 1024)}, size_of, 200_000) == {"shape": (128, 1024)}


def test_a_list_of_many_sizes_becomes_shorter():
    found = shrink({"lengths": (4096,) * 64}, lambda a: 10_000 * len(a["lengths"]) + sum(a["lengths"]), 50_000)

    assert len(found["lengths"]) == 4
    assert set(found["lengths"]) <= {2**i for i in range(13)}


def test_what_must_be_kept_may_leave_no_way():
    assert shrink({"m": 512, "n": 512}, lambda a: a["m"] * a["n"], 20_000, ["m"]) == {"m": 512, "n": 32}
    assert shrink({"m": 512}, lambda a: a["m"], 100, ["m"]) is None


def test_changes_are_named():
    assert changes({"m": 512, "k": 3}, {"m": 64, "k": 3}) == "m 512 -> 64"
