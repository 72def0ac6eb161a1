"""Findings and notes that differ in their case and numbers alone are told once."""

import pytest
from kernel_harness.judge import told

pytestmark = pytest.mark.cpu
WRONG = "values [case {}]: {} of 64 elements are wrong, first at [{}, 0]; largest error {}, 12 times the bound."


def test_alike_ones_are_told_once_with_their_cases():
    cases = ("default", 3, 0, 0.25), ("odd", 17, 5, 3e38), ("half", 1, 2, "inf")
    first, *others = [WRONG.format(*case) for case in cases]

    assert told.once([first, *others]) == [first.replace("[case default]", "[case default, likewise odd, half]")]


@pytest.mark.parametrize(
    "other",
    [
        "values [case odd]: 3 of 64 elements are wrong, in the tail.",
        "race [case odd]: 3 of 64.",
        WRONG.format("odd", 3, 0, 1).replace("elements", "numbers"),
    ],
)
def test_others_are_told_as_they_are(other):
    given = [WRONG.format("default", 3, 0, 0.25), other]

    assert told.once(given) == given


def test_targets_are_named_once():
    given = [f"k (sm_{arch}) loads input {n} slowly" for n in (0, 1) for arch in ("80", "90a", "100a")]

    assert told.once(given) == [f"k (sm_80, likewise sm_90a, sm_100a) loads input {n} slowly" for n in (0, 1)]


def test_what_names_neither_stays():
    given = ["TOLERANCE 0.1 is ignored", "TOLERANCE 0.2 is ignored", "a note"]

    assert told.once(given) == given


def test_a_case_that_names_a_place_in_a_shape_is_told_whole():
    first = "sizes-between [case shape[1]=65535 beside shape=(2, 65535)]: 3 of 8 elements are wrong."
    second = "sizes-between [case shape[1]=300 beside shape=(2, 300)]: 5 of 9 elements are wrong."

    assert told.once([first, second]) == [
        "sizes-between [case shape[1]=65535 beside shape=(2, 65535), likewise shape[1]=300 beside shape=(2, 300)]: "
        "3 of 8 elements are wrong."]
