"""The acceptance rule: honest rounding passes, less precision does not, and the place of an error is found."""

import math
from dataclasses import replace

import pytest
import torch
from kernel_harness.comparison import contraction
from kernel_harness.comparison.compare import (
    Expected,
    Tolerance,
    clipped_file_tolerance,
    compare,
    forgiven,
    reference_deviation,
)
from kernel_harness.comparison.null_kernels import null_results
from torch.nn.functional import silu

pytestmark = pytest.mark.cpu


def anchors(function, *inputs, dtype):
    """native, golden and moved results of ``function`` for inputs in ``dtype``."""
    typed = [t.to(dtype) for t in inputs]
    wide = [t.double() for t in typed]
    step = 2.0**-52 if dtype is torch.float64 else 2.0**-24
    moved = [t * (1 + step * (2 * torch.rand_like(t) - 1)) for t in wide]
    return typed, Expected(function(*typed), function(*wide), function(*moved))


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def sequential_matmul(a, b):
    out = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
    for k in range(a.shape[1]):
        out += a[:, k : k + 1] * b[k : k + 1, :]
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_another_order_of_summation_passes(dtype):
    (a, b), expected = anchors(torch.matmul, torch.randn(64, 2048), torch.randn(2048, 48), dtype=dtype)

    assert compare("", sequential_matmul(a, b), expected).passed


@pytest.mark.parametrize(("dtype", "inside"), [
    (torch.float32, torch.bfloat16), (torch.float32, torch.float16), (torch.float64, torch.float32),
    (torch.bfloat16, torch.float8_e4m3fn)], ids=str)
def test_arithmetic_in_a_smaller_format_fails_and_says_so(dtype, inside):
    normal = torch.distributions.Normal(torch.tensor(0.0, dtype=torch.float64), 1.0)
    (a, b), expected = anchors(torch.matmul, normal.sample((64, 256)), normal.sample((256, 48)), dtype=dtype)
    coarse = torch.matmul(a.to(inside).double(), b.to(inside).double()).to(dtype)

    outcome = compare("", coarse, expected)

    assert not outcome.passed
    assert any("less precise" in cause for cause in outcome.causes)


def gated(x, y):
    return silu(x) * y


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_few_elements_may_all_round_the_same_way(count):
    """sigmoid(x) * x * y rounds three times; once in twenty results of one element each rounding is large."""
    for _ in range(500):
        (x, y), expected = anchors(gated, torch.randn(count), torch.randn(count), dtype=torch.bfloat16)

        assert compare("", torch.sigmoid(x) * x * y, expected).passed


def test_many_elements_may_not():
    _, expected = anchors(gated, torch.randn(4096), torch.randn(4096), dtype=torch.bfloat16)
    astray = expected.golden * (1 + 1.5 * 2.0**-7 * torch.randn(4096).sign())

    outcome = compare("", astray.bfloat16(), expected)

    assert outcome.wrong == outcome.total  # each element for itself is within its bound


def statistics(x, spare=0):
    mean = x.mean(dim=1)
    deviation = ((x - mean[:, None]).square().sum(dim=1) / (x.shape[1] - spare)).sqrt() / 1000
    return torch.stack([mean, deviation], dim=1)


@pytest.mark.parametrize("chunk", [1 << 22, 1000, 130])
def test_a_small_column_does_not_hide_beside_a_large_one(monkeypatch, chunk):
    monkeypatch.setattr("kernel_harness.comparison.compare.CHUNK_ELEMENTS", chunk)
    (x,), expected = anchors(statistics, 100 * torch.rand(333, 64), dtype=torch.float32)
    halves = x.chunk(2, dim=1)
    mean = (halves[0].sum(dim=1) + halves[1].sum(dim=1)) / 64
    another_order = ((halves[0] - mean[:, None]).square().sum(1) + (halves[1] - mean[:, None]).square().sum(1)) / 64

    honest = compare("", torch.stack([mean, another_order.sqrt() / 1000], dim=1), expected)
    sample = compare("", statistics(x, spare=1), expected)

    assert honest.passed
    assert sample.wrong == 333
    assert sample.first_index == [0, 1]


@pytest.mark.parametrize(("left", "got"), [(0.0, 2**-24), (3e-8, 3.6e-8)])
def test_what_rounding_leaves_of_a_large_column_is_no_column_of_its_own(left, got):
    large = torch.randn(64, 1, dtype=torch.float64)
    golden = torch.cat([large, left * large], dim=1)
    expected = Expected(golden.float(), golden, golden)

    assert compare("", torch.cat([large, got * large], dim=1).float(), expected).passed


@pytest.mark.parametrize("width", [2, 3, 15])
def test_columns_of_one_size_and_tensors_of_many_chunks_are_one_group(monkeypatch, width):
    monkeypatch.setattr("kernel_harness.comparison.compare.CHUNK_ELEMENTS", 100)
    weight = torch.randn(40, width)
    (a, b), expected = anchors(torch.matmul, torch.randn(77, 40), weight, dtype=torch.float32)

    assert compare("", sequential_matmul(a, b), expected).passed


@pytest.mark.parametrize(("dtype", "passes"), [(torch.float16, False), (torch.float32, True)], ids=str)
def test_denormals_may_be_flushed_in_float32_and_not_in_half(dtype, passes):
    smallest = torch.finfo(dtype).smallest_normal
    (x,), expected = anchors(lambda x: x / 4, torch.randn(4096, dtype=torch.float64) * smallest, dtype=dtype)
    flushed = torch.where(expected.native.abs() < smallest, 0.0, expected.native)

    assert compare("", flushed, expected).passed == passes
    assert compare("", x * 0.25, expected).passed


def test_tf32_in_place_of_float32_fails():
    (a, b), expected = anchors(torch.matmul, torch.randn(64, 512), torch.randn(512, 64), dtype=torch.float32)
    truncated = [(t.view(torch.int32) & ~0x1FFF).view(torch.float32) for t in (a, b)]

    assert not compare("", torch.matmul(*truncated), expected).passed


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_softmax_of_its_own_passes(dtype):
    function = lambda x: torch.softmax(x, -1)
    (x,), expected = anchors(function, 3 * torch.randn(33, 1000), dtype=dtype)
    scaled = x.float() * 1.4426950408889634
    powers = torch.exp2(scaled - scaled.amax(-1, keepdim=True))

    assert compare("", (powers / powers.sum(-1, keepdim=True)).to(dtype), expected).passed


def test_zeros_do_not_pass_for_a_wide_softmax():
    (_,), expected = anchors(lambda x: torch.softmax(x, -1), torch.randn(8, 32768), dtype=torch.bfloat16)

    assert not compare("", torch.zeros_like(expected.native), expected).passed


def test_a_small_row_is_not_hidden_by_a_large_one():
    (x,), expected = anchors(lambda x: x * 2, torch.randn(2, 64) * torch.tensor([[1e6], [1e-3]]), dtype=torch.float32)
    wrong = x * 2
    wrong[1, 5] *= 1.01

    outcome = compare("", wrong, expected)

    assert outcome.first_index == [1, 5]
    assert outcome.where.startswith("a single element")


@pytest.mark.parametrize(("value", "passes"), [(math.nan, True), (0.0, False), (math.inf, False)])
def test_nan_must_be_where_the_reference_has_it(value, passes):
    golden = torch.ones(40)
    golden[7] = math.nan
    result = golden.clone()
    result[7] = value

    assert compare("", result, Expected(golden, golden.double())).passed is passes


def test_integers_are_exact():
    native = torch.arange(100) + 2**40
    result = native.clone()
    result[-1] += 1

    outcome = compare("", result, Expected(native))

    assert (outcome.wrong, outcome.first_index, outcome.max_error) == (1, [99], 1.0)


@pytest.mark.parametrize(("wrong", "text"), [
    ((slice(None), slice(96, 100)), "tail from 96 on of dimension 1"), ((3, slice(None)), "only at 3 of dimension 0"),
    ((slice(None), slice(None)), "every element"), ((slice(None), slice(0, 100, 4)), "4 apart"),
    ((slice(None), slice(0, 100, 98)), "at 2 places between 0 and 98 of dimension 1"),
    ((slice(1, 20), slice(None)), "everywhere from 1 on of dimension 0")])
def test_the_pattern_of_wrong_elements_is_named(wrong, text):
    native = torch.randn(20, 100)
    result = native.clone()
    result[wrong] += 1

    assert text in compare("", result, Expected(native, native.double())).where


@pytest.mark.parametrize(("every", "is_precision"), [(1, True), (500, False)])
def test_few_wrong_elements_are_no_matter_of_precision(every, is_precision):
    native = torch.randn(100, 100)
    result = native.clone()
    result.view(-1)[::every] = native.view(-1)[::every].bfloat16().float() * (1 + 2.0**-5 * (every > 1))

    outcome = compare("", result, Expected(native, native.double()))

    assert not outcome.passed
    assert any("less precise" in cause for cause in outcome.causes) == is_precision


def test_a_users_tolerance_replaces_the_rule():
    native = torch.ones(50)

    assert compare("", native + 0.009, Expected(native, native.double()), Tolerance(0.0, 0.01)).passed
    assert not compare("", native + 0.011, Expected(native, native.double()), Tolerance(0.0, 0.01)).passed


def test_a_file_that_asks_for_more_than_its_ceiling_gets_the_wider_of_it_and_the_rule():
    golden = 5.5 * 2.0**-24 * torch.ones(50, dtype=torch.float64)  # between two denormals of float16
    rounded, declared = golden.half(), {"rtol": 1e-2, "atol": 1e-2}
    cut = clipped_file_tolerance(declared, torch.float16, float(golden[0]))

    assert cut.or_rule
    assert cut.atol < 2.0**-25
    assert compare("", rounded, Expected(rounded, golden), cut).passed
    assert not compare("", rounded, Expected(rounded, golden), replace(cut, or_rule=False)).passed
    assert not clipped_file_tolerance({"rtol": 1e-4, "atol": 1e-4}, torch.float16, 1.0).or_rule


def test_null_kernels_leave_out_what_is_the_right_answer():
    x = torch.randn(4, 4)

    names = [name for name, _ in null_results(x.clone(), [x], None)]

    assert "a copy of an input" not in names
    assert "zeros" in names


def test_a_reference_that_differs_by_precision_is_seen():
    x = torch.randn(1000)

    assert reference_deviation(torch.tanh(x), torch.tanh(x.double()), None) == 0
    assert reference_deviation(torch.tanh(x), (x / (1 + x.abs())).double(), None) > 0.25


def test_two_elements_that_cancel_are_no_reference_that_differs_by_precision():
    x = torch.full((16,), 1e-5)

    assert reference_deviation(x[:2], 1.01 * x[:2].double(), None) == 0
    assert reference_deviation(x, 1.01 * x.double(), None) == 1
    assert reference_deviation(x[:2], 2 * x[:2].double(), None) == 1


def test_large_results_are_compared_in_bounded_chunks():
    native = torch.randn(3, 1 << 22)
    result = native.clone()
    result[2, 12345] += 1

    assert compare("", result, Expected(native, native.double())).first_index == [2, 12345]


def test_small_elements_do_not_hide_behind_the_largest():
    scale = torch.logspace(-3, 3, 128)[:, None]
    _, expected = anchors(lambda t: t.square().sum(1), torch.randn(128, 64) * scale, dtype=torch.float32)
    exact = expected.native
    dropped = torch.where(exact < 1e-7 * exact.max(), 0.0, exact)

    assert compare("", exact, expected).passed
    assert not compare("", dropped, expected).passed


def test_elements_that_cancel_may_lose_their_digits():
    a, b = torch.randn(1, 4096), torch.randn(4096, 400)
    b -= a.T @ (a @ b) / a.square().sum()  # every product is zero but for rounding
    typed, expected = anchors(torch.matmul, a, b, dtype=torch.float32)

    assert compare("", sequential_matmul(*typed), expected).passed


@pytest.mark.parametrize(("dtype", "step", "places", "passes"), [
    (torch.int8, 1, 1, True),
    (torch.int8, 1, 6, False),
    (torch.int8, 2, 1, False),
    (torch.int32, 1, 1, False),
])  # fmt: skip
def test_an_8_bit_quantiser_may_meet_a_tie_of_its_own(dtype, step, places, passes):
    """Float32 puts about one value in 100,000 on the other side of a tie; the reference's own runs need not meet it."""
    native = torch.randint(-100, 100, (12200,)).to(dtype)
    result = native.clone()
    result[:places] += step

    assert compare("", result, Expected(native, native.clone(), native.clone())).passed is passes


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.complex64], ids=str)
def test_a_step_that_the_reference_tips_over_is_forgiven_and_no_other(dtype):
    golden = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    tipped = torch.tensor([1.0, 2.5, 3.0, 4.0], dtype=torch.float64)
    result = torch.tensor([1.0, 2.5, 3.5, 4.0]).to(dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64

    taken = forgiven(result, Expected(golden.to(dtype), golden.to(wide)), tipped.to(wide))

    assert taken.dtype is dtype
    assert taken.to(wide).real.tolist() == [1.0, 2.0, 3.5, 4.0]


def test_a_large_integer_is_forgiven_only_as_the_reference_tips_it():
    native = torch.full((3,), 1 << 60)  # float64 cannot tell it from the next ones
    tipped, result = native + torch.tensor([0, 1, 1]), native + torch.tensor([1, 1, 2])

    assert (forgiven(result, Expected(native, native), tipped) - native).tolist() == [1, 0, 2]


def test_a_count_may_lie_between_those_of_the_reference():
    native = torch.tensor([500, 500, 500, 500, 500])
    golden = native + torch.tensor([0, 0, 0, 0, -1])
    tipped = native + torch.tensor([3, -3, 3, 300, 0])
    result = native + torch.tensor([1, 1, 4, 1, -1])

    assert (forgiven(result, Expected(native, golden), tipped) - native).tolist() == [0, 0, 4, 1, 0]


@pytest.mark.parametrize(("moved", "left"), [
    ((1, -1, 0), (0, 0, 0)), ((0, -1, 0), (0, -1, 0)), ((9, -9, 0), (9, -9, 0)), ((1, 0, -1), (0, 0, -1))])
def test_many_counts_on_a_bound_may_go_elsewhere_few_at_a_time_and_none_is_lost(moved, left):
    native = torch.tensor([500, 60221, 500])
    tipped = native + torch.tensor([60000, -60000, 0])
    result = native + torch.tensor(moved)

    assert (forgiven(result, Expected(native, native), tipped) - native).tolist() == list(left)


def test_one_addition_after_the_other_passes_where_an_element_is_a_long_sum():
    (x,), expected = anchors(lambda x: x.sum(0), torch.rand(16384, 8), dtype=torch.float32)
    expected = Expected(expected.native, expected.golden, expected.moved, terms=16384)
    total, halves = torch.zeros(8), torch.zeros(8)
    for row in x:
        total += row
        halves += row.bfloat16().float()

    assert compare("", total, expected).passed
    assert not compare("", halves, expected).passed


def test_a_scale_of_twice_the_size_is_wrong():
    right = torch.tensor([120, 121, 122, 121] * 64, dtype=torch.uint8)
    double, scale = (right + 1).view(torch.float8_e8m0fnu), right.view(torch.float8_e8m0fnu)

    assert compare("", scale.clone(), Expected(scale, scale, scale)).passed
    assert compare("", double, Expected(scale, scale, scale)).wrong == 256


def test_without_a_golden_anchor_the_reference_may_err_as_well():
    right, strays = torch.ones(64, 64), torch.zeros(64, 64)
    strays[9, 9] = torch.finfo(torch.float32).eps

    assert compare("", right + 80 * strays, Expected(right)).passed  # 16 the kernel's, 32 the reference's, of twice one
    assert not compare("", right + 112 * strays, Expected(right)).passed
    assert not compare("", right + 40 * strays, Expected(right, right.double(), right.double())).passed


def test_sums_that_tensor_cores_cut_off_pass_and_bfloat16_partial_sums_do_not():
    """Measured on an H200: over K = 14336 the products of bfloat16 numbers were 1.42e-5 short, 119 eps of float32."""
    torch.manual_seed(0)
    a, b = torch.rand(64, 14336).bfloat16().double(), torch.rand(96, 14336).bfloat16().double()
    exact = a @ b.mT
    native, cut_off = exact.float(), (exact * (1 - 1.42e-5)).float()
    halves = (a[:, :7168] @ b[:, :7168].mT).bfloat16().float() + (a[:, 7168:] @ b[:, 7168:].mT).bfloat16().float()
    inputs = [{"dtype": "bfloat16", "shape": list(x.shape)} for x in (a, b)]
    expected = Expected(native, exact, exact, **contraction.sizes(inputs, exact.numel()))

    assert compare("", cut_off, expected).passed
    assert not compare("", halves, expected).passed
    assert not compare("", cut_off, Expected(native, exact, exact)).passed


def test_of_millions_of_16_bit_elements_a_few_may_lie_beyond_the_bound():
    """On an H200 3 of 67 million elements of a chunked linear attention with a bfloat16 state were 1.26 times it."""
    torch.manual_seed(0)
    exact = torch.randn(1 << 14, 128).bfloat16().double()
    bound = 2.0**-7 * (exact.abs() + exact.square().mean(-1, keepdim=True).sqrt())

    def with_strays(count, times, rows=1 << 14):
        result = exact.clone()
        result[:count, 5] += times * bound[:count, 5]
        return compare("", result[:rows].bfloat16(), Expected(exact[:rows].bfloat16(), exact[:rows], exact[:rows]))

    assert with_strays(2, 1.3).passed
    assert with_strays(2, 1.3).budget_used == 1.0
    assert not with_strays(2, 2.0).passed
    assert not with_strays(9, 1.3).passed
    assert with_strays(1, 1.3, rows=64).passed
    assert not with_strays(1, 1.3, rows=16).passed
    result = exact.bfloat16()
    result[3, 5] = torch.nan
    assert compare("", result, Expected(exact.bfloat16(), exact, exact)).wrong == 1


def test_float8_products_may_lose_what_tensor_cores_keep_14_bits_of():
    """On an H200 a Triton product of float8 numbers (K = 512, promoted every 64) was 1.8e-5 off: 150 eps of float32."""
    torch.manual_seed(0)
    a, b = (torch.randn(rows, 512).to(torch.float8_e4m3fn).double() for rows in (256, 192))
    exact = a @ b.mT
    cut_off = (exact + 1.8e-5 * exact.square().mean().sqrt() * torch.randn(exact.shape)).float()
    inputs = [{"dtype": "float8_e4m3fn", "shape": list(x.shape)} for x in (a, b)]
    sizes = contraction.sizes(inputs, exact.numel())

    assert compare("", cut_off, Expected(exact.float(), exact, exact, **sizes)).passed
    assert not compare("", exact.bfloat16().float(), Expected(exact.float(), exact, exact, **sizes)).passed
    assert not compare("", cut_off, Expected(exact.float(), exact, exact, **(sizes | {"is_float8": False}))).passed
    assert not contraction.sizes([inputs[0], {**inputs[1], "dtype": "bfloat16"}], exact.numel())["is_float8"]
    assert 1.0 < contraction.roundings(**sizes, eps=2.0**-7) <= 1.125


@pytest.mark.parametrize(("shapes", "total", "length"), [
    (((64, 4096), (128, 4096)), 64 * 128, 4096),
    (((64, 4096),), 64, 4096),
    (((64, 4096),), 64 * 4096, 0),  # element by element
    (((64, 4096), (4096,)), 64 * 4096, 0),  # and a vector along the rows
    (((8, 100, 64), (8, 64, 300)), 8 * 100 * 300, 300),
])
def test_the_longest_sum_that_the_shapes_allow(shapes, total, length):
    nodes = [{"dtype": "float16", "shape": list(shape)} for shape in shapes]

    assert contraction.sizes(nodes, total)["length"] == length
    assert contraction.sizes([{**node, "dtype": "float32"} for node in nodes], total)["length"] == 0


def test_a_tail_that_float64_rounds_away_of_the_inputs_may_be_zero_where_values_are_no_files():
    x = -8.7 - torch.rand(2, 64, dtype=torch.float64)
    tail = 0.5 * x * torch.erfc(-x / math.sqrt(2))
    expected = Expected(tail.float(), tail, tail, vanishing=2.0**-53 * float(x.abs().max()))

    assert compare("", torch.zeros(2, 64), expected).passed
    assert not compare("", torch.zeros(2, 64), Expected(tail.float(), tail, tail)).passed
    assert not compare("", tail.float() + 1e-13, expected).passed


@pytest.mark.parametrize(("size", "passes"), [(1e-17, True), (1e-9, False)])
def test_what_float64_leaves_of_a_zero_is_no_lost_digit(size, passes):
    """A reference that computes in float64 whatever it is given says the same of both precisions."""
    golden = torch.randn(64, 2)
    golden[::8, 1] = size
    expected = Expected(golden, golden.double(), golden.double() * (1 + 1e-12))
    result = golden.clone()
    result[::8, 1] = 0.0

    outcome = compare("", result, expected)

    assert outcome.passed is passes
    assert passes or "no right digit" in outcome.causes[0]


@pytest.mark.parametrize(("error", "passes"), [(5e-7, True), (1e-4, False)])
def test_terms_that_the_reference_cancels_exactly_may_leave_their_rounding(error, passes):
    """Attention's gradient with one visible key: p (dP - sum p dP) is zero, or what two sums of dP differ by."""
    golden = torch.randn(64, 32, dtype=torch.float64)
    golden[0] = 0.0
    native = golden.float()
    result = native.clone()
    result[0, 3] = error
    nothing, alone = Expected(0 * native, 0 * golden, 0 * golden), torch.zeros_like(native)
    alone[0, 3] = error

    assert compare("out", result, Expected(native, golden, golden.clone())).passed == passes
    assert not compare("out", alone, nothing).passed, "where all is zero nothing cancels"


def test_a_dimension_of_one_counts_among_the_dimensions():
    expected = torch.randn(1, 20, 1, 100)
    result = expected.clone()
    result[:, 3] += 1

    assert "only at 3 of dimension 1 (size 20)" in compare("", result, Expected(expected, expected.double())).where


@pytest.mark.parametrize(("dtype", "cause"), [(torch.int32, "equal values"), (torch.float32, "(predicate)")])
def test_the_last_places_of_sorted_indices_are_no_tail(dtype, cause):
    expected = torch.arange(8).repeat(64, 1).to(dtype)
    result = expected.clone()
    result[::3, 4:] += 5

    outcome = compare("", result, Expected(expected, expected.double(), expected.double()))

    assert "tail" in outcome.where
    assert cause in outcome.causes[0]
