"""Which other arguments the judge passes in place of those of get_inputs."""

import ast
import math

import pytest
import torch
from kernel_harness import values
from kernel_harness.inputs.arguments import FACTOR, NEAR, other_arguments, words_in

pytestmark = pytest.mark.cpu


def changed(argument, tmp_path, words=()):
    bundle = values.save([torch.ones(4), argument], tmp_path / "inputs")
    return [(o.new, o.decides, values.rebuild(o.bundle.tree["items"][1], None)) for o in other_arguments(bundle, words)]


OTHERS = [
    (2.0, 2.1875, True),
    (0.0, 0.1, True),
    (-math.inf, -1.0, True),
    (True, False, True),
    (3, 4, False),
    (torch.bfloat16, torch.float32, True),
]


@pytest.mark.parametrize(("argument", "other", "decides"), OTHERS)
def test_a_number_flag_or_dtype_becomes_another(argument, other, decides, tmp_path):
    _, decided, rebuilt = changed(argument, tmp_path)[0]

    assert rebuilt == other
    assert decided == decides


def test_a_seed_gets_more_digits_than_32_bits_hold(tmp_path):
    bundle = values.save([torch.ones(4), 77], tmp_path / "inputs")

    first = other_arguments(bundle, seeds={1})[0]

    assert (first.new, first.decides) == (2**33 + 77, True)
    assert max(o.new for o in other_arguments(bundle)) == 78


def test_an_epsilon_becomes_one_that_shows(tmp_path):
    assert [new for new, _, _ in changed(1e-6, tmp_path)] == [FACTOR * 1e-6, NEAR * 1e-6, 0.25, 0.0]


def test_a_name_becomes_those_of_its_kind_and_those_of_the_file(tmp_path):
    found = [new for new, _, _ in changed("mean", tmp_path, ["mean", "rows"])]

    assert {"sum", "none", "rows"} <= set(found)
    assert "mean" not in found


@pytest.mark.parametrize(("sizes", "others"), [([16, 16, 32], [16, 32, 16]), ((3, 5), (5, 3))])
def test_sizes_in_a_sequence_keep_their_sum(sizes, others, tmp_path):
    assert changed(sizes, tmp_path)[0][2] == others


def test_what_a_dict_holds_changes_one_at_a_time(tmp_path):
    found = [rebuilt for _, _, rebuilt in changed({"scale": 2.0, "causal": True}, tmp_path)]

    assert found[:2] == [{"scale": 2.0, "causal": False}, {"scale": 2.1875, "causal": True}]
    assert found[2:] == [{"scale": NEAR * 2.0, "causal": True}, {"scale": 0.0, "causal": True}]


def test_sentences_are_no_words():
    assert words_in(ast.parse('"""A file."""\nx = "tanh"\ny = "a long sentence"\nz = "tanh"')) == ["tanh"]


def test_a_share_becomes_a_smaller_one_too(tmp_path):
    assert [new for new, _, _ in changed(1.0, tmp_path)] == [FACTOR, 1 / FACTOR, 0.0]


def test_a_window_becomes_smaller_ones_of_which_one_shows(tmp_path):
    assert [new for new, _, _ in changed(100, tmp_path)] == [101, 67, 25, 6, 1, 0]


def test_flags_change_together_too(tmp_path):
    bundle = values.save([torch.ones(4), False, 3.0, True], tmp_path / "inputs")
    found = other_arguments(bundle)
    both = next(other for other in found if other.new == [True, False])

    assert both.decides
    assert [node["value"] for node in both.bundle.tree["items"][1:]] == [True, 3.0, False]


def test_zeros_come_last_and_only_once(tmp_path):
    bundle = values.save([torch.ones(4), 3, 2.0, -1, 0, True], tmp_path / "inputs")
    found = other_arguments(bundle)
    zeros = [(other.index, other.new) for other in found if other.is_zero]

    assert zeros == [(1, 0), (2, 0.0), (3, 0)]  # after the axis -1 comes axis 0, too
    assert [other.is_zero for other in found[-3:]] == [True] * 3


def test_a_number_becomes_one_that_is_the_same_in_three_digits(tmp_path):
    """A rate that is compiled in, and filed under its first digits."""
    found = [new for new, decides, _ in changed(0.01, tmp_path) if decides and f"{new:.3g}" == "0.01"]

    assert len(found) == 1
    assert found != [0.01]


def test_the_last_dimension_becomes_the_one_whose_hash_is_the_same(tmp_path):
    assert hash(-1) == hash(-2)
    assert -2 in [new for new, _, _ in changed(-1, tmp_path)]


def test_a_counter_beside_a_seed_comes_near_the_end_of_its_word(tmp_path):
    bundle = values.save([torch.ones(4), 7, 3], tmp_path / "inputs")

    def others(**how):
        return [o.new for o in other_arguments(bundle, **how) if o.index == 2 and o.decides]

    assert others(seeds={1}, counters={2}) == [2**32 - 5, 2**34 - 17]
    assert others(counters={2}) == []  # without a seed it may be a position


def test_a_large_number_becomes_one(tmp_path):
    assert [new for new, _, _ in changed(-50.0, tmp_path)] == [FACTOR * -50.0, NEAR * -50.0, -1.0, 0.0]
