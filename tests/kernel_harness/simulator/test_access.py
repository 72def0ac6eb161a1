"""What threads may write to one address at once: one sum, which each of them added in an order of its own."""

import numpy as np
import pytest
from kernel_harness.simulator import access

pytestmark = pytest.mark.cpu


def same(one, other, dtype=np.float32):
    """For each row of words, beside the others of its instruction."""
    one, other = (np.array(words, dtype=dtype).view(np.uint8).reshape(len(words), -1) for words in (one, other))
    return access._same_but_for_rounding(one, other).tolist()


def test_roundings_of_one_sum_are_the_same():
    assert same([[1.0], [-3.0]], [[1.001], [-3.0]]) == [True, True]
    assert same([[1e-32, 2e-33]], [[1.0000001e-32, 2e-33]]) == [True]  # products of three small factors


def test_little_that_is_left_of_a_sum_is_measured_by_the_others():
    assert same([[1e-6], [2.0]], [[1.5e-6], [2.0]]) == [True, True]
    assert same([[1e-6], [2e-6]], [[1.5e-6], [2e-6]]) == [False, True]


def test_other_values_are_not_the_same():
    assert same([[1.0], [2.0]], [[1.01], [2.0]]) == [False, True]
    assert same([[1.0, 5.0]], [[1.0, 6.0]]) == [False]  # one word of a vector


@pytest.mark.parametrize("numbers", [(7, 8), (0, 1), (4_000_000, 4_000_001)])
def test_integers_have_no_roundings(numbers):
    one, other = numbers

    assert same([[one]], [[other]], np.int32) == [False]


def test_half_a_word_has_no_roundings():
    assert same([[1.0]], [[1.001]], np.float16) == [False]
