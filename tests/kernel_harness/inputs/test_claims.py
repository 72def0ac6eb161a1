"""What docstrings say of sizes."""

import ast
import math

import pytest
from kernel_harness.inputs import claims

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("said", "expected"), [
    ("x: contiguous, any shape and size.", True), ("Softmax over rows of arbitrary length.", True),
    ("x of any float dtype", False), ("any sizes that are multiples of 8", False), ("x (M, N)", False), ("", False),
])  # fmt: skip
def test_a_docstring_claims_any_size(said, expected):
    for text in (f'"""{said}"""', f'def kernel_fn(x):\n    """{said}"""'):
        assert claims.takes_any_size(ast.parse(text)) == expected
    assert not claims.takes_any_size(ast.parse(f'def helper(x):\n    """{said}"""'))


@pytest.mark.parametrize(("said", "expected"), [
    ("x float32, float16 or bfloat16, contiguous", ["float32", "float16", "bfloat16"]),
    ("x (M, N) bf16/fp16", ["bfloat16", "float16"]), ("x bfloat16, sums in float32", []),
    ("bf16 and fp32 accumulation", []), ("x bfloat16", []), ("float8, float16 or bfloat16", ["float16", "bfloat16"]),
])  # fmt: skip
def test_a_docstring_leaves_a_choice_of_dtypes(said, expected):
    assert claims.dtypes(ast.parse(f'"""{said}"""')) == expected


@pytest.mark.parametrize(("said", "expected"), [
    ("Tokens that a grammar forbids are -inf, which may be some, most or all of a row.", True),
    ("x (M, N), contiguous; entries may be -inf (a mask).", True), ("scores may hold minus infinity", True),
    ("x may not hold -inf", False), ("lse may be -inf where a row sees nothing", False),
    ("Returns the maxima, which may be -inf.", False), ("x may be empty. The mask is -inf inside.", False),
    ("x - infimum, which may be zero", False), ("", False),
])  # fmt: skip
def test_a_docstring_says_that_inputs_may_be_minus_infinity(said, expected):
    assert claims.takes_minus_infinity(ast.parse(f'"""{said}"""')) == expected


@pytest.mark.parametrize(("said", "expected"), [
    ("M and N are any numbers, zero included: no rows give no sums", True), ("Lengths may be zero.", True),
    ("x (M, N), N may also be 0", True), ("N may not be zero", False), ("M must not be below 1", False),
    ("raises ValueError; N can be 0", True), ("ValueError where rows can be empty", False), ("", False),
])  # fmt: skip
def test_a_docstring_says_that_a_size_may_be_zero(said, expected):
    assert claims.takes_nothing(ast.parse(f'"""{said}"""')) == expected


@pytest.mark.parametrize(("said", "expected"), [
    ("each from -V to V - 1, where\nnegative ones count from the end as they do in PyTorch; rows may come twice", True),
    ("Negative indices wrap from the end.", True), ("negative ones are not counted from the end", False),
    ("ids below zero are skipped, as are those from the end", False), ("", False),
])  # fmt: skip
def test_a_docstring_counts_from_the_end(said, expected):
    assert claims.counts_from_the_end(ast.parse(f'''"""{said}"""''')) == expected


@pytest.mark.parametrize(("said", "expected"), [
    ("x: int32, contiguous, any shape and any values; d from 1 on", True), ("any integers", True),
    ("x may not have any values above 9", False), ("x of any shape", False),
])  # fmt: skip
def test_a_docstring_takes_any_values(said, expected):
    assert claims.takes_any_value(ast.parse(f'"""{said}"""')) == expected


@pytest.mark.parametrize(("claim", "said", "expected"), [
    (claims.takes_nan, "NaN propagates, as in torch", True), (claims.takes_nan, "x may hold NaN or infinities", True),
    (claims.takes_nan, "x without NaN", False), (claims.takes_nan, "float32 without NaN; rows may be empty", False),
    (claims.takes_any_strides, "x: any shape, any strides", True), (claims.takes_any_strides, "any row stride", False),
    (claims.takes_any_strides, "x must be contiguous", False),
    (claims.takes_any_strides, "x may not be noncontiguous", False),
    (claims.takes_any_rows, "contiguous columns, rows at any distance", True),
    (claims.takes_any_rows, "contiguous columns, any row stride", True), (claims.takes_any_rows, "contiguous", False),
    (claims.takes_repeats, "labels: (N, S), in any order, repeated or not.", True),
    (claims.takes_repeats, "rows may come several times", True), (claims.takes_repeats, "each comes once", False),
    (claims.takes_any_address, "any alignment", True), (claims.takes_any_address, "unaligned views as well", True),
    (claims.takes_any_address, "a misaligned view is an error", False), (claims.takes_nan, "No NaN may be in x", False),
    (claims.takes_any_address, "16-byte aligned", False), (claims.takes_any_address, "no misaligned views", False),
])  # fmt: skip
def test_what_a_docstring_takes(claim, said, expected):
    assert claim(ast.parse(f'''"""{said}"""''')) == expected


@pytest.mark.parametrize(("said", "expected"), [
    ("x: int32, any values; d: an integer from 1 to 2^31 - 1.", {"d": (1, 2**31 - 1)}),
    ("d (int) from 2 to 64, x from 0 to 1e-3", {"d": (2, 64), "x": (0, 1e-3)}),
    ("d is positive. Numbers from 1 to 9.", {}), ("bd from 1 to 9", {}), ("", {}),
])  # fmt: skip
def test_between_which_numbers_an_argument_lies(said, expected):
    assert claims.ranges(ast.parse(f'''"""{said}"""'''), ["x", "d"]) == expected


@pytest.mark.parametrize(("said", "expected"), [
    ("hop: a positive integer.", {"hop": (1, math.inf)}), ("hop is any positive int", {"hop": (1, math.inf)}),
    ("hop: a positive integer, a multiple of 8", {}), ("hop: a positive integer below the width", {}),
    ("hop: even", {}),
])  # fmt: skip
def test_a_positive_integer_is_any(said, expected):
    assert claims.ranges(ast.parse(f'"""{said}"""'), ["hop"]) == expected


@pytest.mark.parametrize(("said", "number", "bits"), [
    ("A cache of any number of pages.", True, False), ("Any number of rows below 2^31.", True, True),
    ("An arbitrary amount of tokens, with 32-bit offsets.", True, True), ("There is no number of pages.", False, False),
])  # fmt: skip
def test_any_number_is_told_from_those_that_32_bits_count(said, number, bits):
    tree = ast.parse(f'"""{said}"""')

    assert claims.takes_any_number(tree) is number
    assert claims.counts_in_32_bits(tree) is bits


@pytest.mark.parametrize(("said", "expected"), [
    ("rewards (P, G) float32, any numbers; mask 0 or 1.", {0}), ("rewards, mask: any values", {0, 1}),
    ("rewards may be no arbitrary or any numbers", set()), ("rewards float32", set()),
])  # fmt: skip
def test_any_numbers_are_said_of_a_parameter(said, expected):
    tree = ast.parse(f'"""{said}"""\ndef kernel_fn(rewards, mask): pass')

    assert claims.any_numbers(tree) == expected


@pytest.mark.parametrize(("said", "expected"), [
    ("shifts: (R,) int64, any values: a negative one rolls to the left.", {1}),
    ("shifts: any values. A negative one rolls to the left.", set()),
    ("shifts: any non-negative values", set()), ("shifts: any values, none of them negative, or an error", set()),
    ("x float32, any values; shifts: (R,) int64", set()),
])  # fmt: skip
def test_negative_values_are_said_of_a_parameter(said, expected):
    tree = ast.parse(f'"""{said}"""\ndef kernel_fn(x, shifts): pass')

    assert claims.below_zero(tree) == expected


@pytest.mark.parametrize(("said", "expected"), [
    ("The result is (N, ceil(H / 2), ceil(W / 2)).", True), ("Rows in blocks of 128, their number rounded up.", True),
    ("scales (M, ceil(N / 128)), N a multiple of 128", False), ("The result is (N, H / 2, W / 2).", False),
    ("any size", True),
])  # fmt: skip
def test_what_is_rounded_up_has_remainders(said, expected):
    assert claims.takes_remainders(ast.parse(f'"""{said}"""')) is expected
