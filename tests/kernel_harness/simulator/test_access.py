"""What lies at an address, and what threads may write to one at once: a sum that each added in an order of its own."""

import numpy as np
import pytest
from kernel_harness.simulator import access
from one_kernel import THREADS, expect, expect_clean

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


CHOSEN = ["mov.b64 w5, p0; mov.b64 w6, p1; setp.lt.u32 q1, t, 40; selp.b64 w7, w5, w6, q1; ld.param.b64 w8, [w7];"]


def test_one_of_two_parameters_is_chosen_by_its_address():
    """As where a kernel takes one of two tensors by a condition of each thread."""
    out = expect_clean([*CHOSEN, "setp.eq.u64 q2, w8, w0; selp.b32 x0, 1, 2, q2; st.global.b32 [w3], x0;"])
    assert out.tolist() == [1] * 40 + [2] * (THREADS - 40)


def test_an_address_behind_the_parameters_is_outside():
    words = ["40 bytes behind the begin of the kernel's parameters"]
    for load in ("ld.param.b32 x0, [w5+40];", "cvta.param.u64 w5, w5; ld.b32 x0, [w5+40];"):
        expect(["mov.b64 w5, p0;", load, "st.global.b32 [w3], x0;"], "out-of-bounds", 2, words)
