"""Instructions against NumPy, PyTorch-free: the forms whose expected value is a one-line expression."""

import group_corpus
import lane_corpus
import numpy as np
import pytest
from kernel_harness.simulator.coverage import unsupported
from kernel_harness.simulator.parser import parse

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(
    "case", lane_corpus.lane_cases() + group_corpus.group_cases(), ids=lambda case: case.name.replace(" ", "-")
)
def test_corpus_runs_without_findings(case):
    """Every kernel that is compared with a GPU is correct, so it must run clean."""
    _, report = lane_corpus.run_simulated(case)
    assert report.clean, "\n".join(map(str, report.findings))


def test_a_text_is_parsed_once():
    """Every launch asks for the module of its PTX: the parameters' sizes first, and then the instructions."""
    text = f"{lane_corpus.HEADER}.visible .entry test()\n{{ret;\n}}\n"
    assert parse(text) is parse(text)


def result(instruction, kind, *inputs):
    """The lane instruction applied to explicit inputs, each an array of at most COUNT values."""
    kinds = inputs[::2]
    case = lane_corpus.lane_case(instruction, kind, kinds)
    for index, values in enumerate(inputs[1::2]):
        case.buffers[index + 1][: len(values)] = values
    outputs, _ = lane_corpus.run_simulated(case)
    return outputs[0][: len(inputs[1])]


def test_unsupported_forms_are_listed_without_running():
    body = "vadd.u32.u32.u32 x1, x2, x3; add.u32 x1, x1, 1; suld.b.1d.b32.trap x1, [w0, {x1}];"
    (messages,) = unsupported(group_corpus.program(body)).values()
    assert [message.split(" ")[0].rstrip(":") for message in messages] == ["vadd.u32.u32.u32", "suld.b.1d.b32.trap"]


def test_fma_rounds_once():
    a, c = np.float32(1 + 2.0**-12), np.float32(-(1 + 2.0**-11))
    assert result("fma.rn.f32", "f32", "f32", [a], "f32", [a], "f32", [c]) == np.float32(2.0**-24)


def test_a_16_bit_operand_of_a_float32_sum_is_widened_first():
    """PTX ISA 8.6: add, sub and fma of sm_100 take 16-bit floats beside a float32 and round once, to float32."""
    half, wide = np.array([0x3F80, 0xC000], np.uint16), np.array([2.0**-20, 1.5], np.float32)  # 1 and -2 in bfloat16

    assert result("add.rn.f32.bf16", "f32", "bf16", half, "f32", wide).tolist() == [1 + 2.0**-20, -0.5]
    assert result("sub.rn.f32.bf16", "f32", "bf16", half, "f32", wide).tolist() == [1 - 2.0**-20, -3.5]
    assert result("add.rz.f32.f16", "f32", "f16", np.array([0.5], np.float16), "f32", wide[:1]) == 0.5 + 2.0**-20
    assert result("fma.rn.f32.bf16", "f32", "bf16", half, "bf16", half, "f32", wide).tolist() == [1 + 2.0**-20, 5.5]


def test_integers_of_64_bits_become_16_bit_floats_in_one_rounding():
    """Above 2^53 float64 rounds as well: a tie that one bit far below breaks would be lost."""
    tie = 0x0101 << 54  # halfway between two bfloat16 numbers
    values = np.array([tie, tie + 1, -tie - 1, 3, 2049], np.int64)

    bits = result("cvt.rn.bf16.s64", "bf16", "s64", values).astype(np.uint32) << 16
    assert bits.view(np.float32).tolist() == [2.0**62, 2.0**62 + 2.0**55, -(2.0**62) - 2.0**55, 3, 2048]
    assert result("cvt.rn.f16.u64", "f16", "u64", np.array([2049, 2051], np.uint64)).tolist() == [2048, 2052]


def test_two_integers_of_16_bits_share_a_register():
    """No carry from one to the other; the larger of each, as numbers with or without a sign."""
    words, others = [0x0001FFFF, 0x80007FFF], [0x00020001, 0x00018000]

    def of(name):
        return [hex(x) for x in result(name, "b32", "b32", words, "b32", others)]

    assert of("add.u16x2") == of("add.s16x2") == ["0x30000", "0x8001ffff"]
    assert of("max.u16x2") == ["0x2ffff", "0x80008000"]
    assert of("max.s16x2") == ["0x20001", "0x17fff"]
    assert of("min.s16x2") == ["0x1ffff", "0x80008000"]
    assert of("max.relu.s16x2") == ["0x20001", "0x17fff"]


def test_products_of_two_with_two_of_four_bytes():
    halves, octets = [0xFFFF0003], [0x80FF0201]  # -1 and 3; -128, -1, 2 and 1

    def of(name, kind):
        return int(result(name, kind, "b32", halves, "b32", octets, kind, [10])[0])

    assert of("dp2a.lo.s32.s32", "s32") == 3 * 1 - 2 + 10
    assert of("dp2a.hi.s32.s32", "s32") == 3 * -1 + 128 + 10
    assert of("dp2a.hi.s32.u32", "s32") == 3 * 255 - 128 + 10
    assert of("dp2a.hi.u32.u32", "u32") == 3 * 255 + 65535 * 128 + 10


def test_directed_rounding():
    one, tiny = np.array([1, -1], np.float32), np.array([2.0**-60, 2.0**-60], np.float32)
    up, down = np.nextafter(np.float32(1), np.float32(2)), np.nextafter(np.float32(-1), np.float32(0))
    assert result("add.rp.f32", "f32", "f32", one, "f32", tiny).tolist() == [up, down]
    assert result("add.rz.f32", "f32", "f32", one, "f32", tiny).tolist() == [1, down]


def test_bf16_conversion_rounds_to_even():
    values = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, np.inf, -0.0], np.float32)
    assert result("cvt.rn.bf16.f32", "bf16", "f32", values).tolist() == [0x3F80, 0x3F82, 0x7F80, 0x8000]


def test_fp8_conversion_saturates():
    high, low = np.array([1000, 0.0625], np.float32), np.array([-1000, 448], np.float32)
    codes = result("cvt.rn.satfinite.e4m3x2.f32", "e4m3x2", "f32", high, "f32", low)
    assert [hex(code) for code in codes] == ["0x7efe", "0x187e"]


def test_minimum_orders_zeros_and_ignores_nan():
    a, b = np.array([0.0, np.nan, -0.0], np.float32), np.array([-0.0, 1.0, 0.0], np.float32)
    smallest, largest = result("min.f32", "f32", "f32", a, "f32", b), result("max.f32", "f32", "f32", a, "f32", b)
    assert np.signbit(smallest).tolist() == [True, False, True]
    assert smallest[1] == largest[1] == 1
    assert not np.signbit(largest).any()


def test_the_smaller_magnitude_takes_the_sign_of_both():
    a, b = np.array([-3.0, 3.0, -3.0, 0.5], np.float32), np.array([2.0, 4.0, -7.0, -0.0], np.float32)
    assert result("min.xorsign.abs.f32", "f32", "f32", a, "f32", b).tolist() == [-2.0, 3.0, 3.0, -0.0]
    assert result("max.xorsign.abs.f32", "f32", "f32", a, "f32", b).tolist() == [-3.0, 4.0, 7.0, -0.5]
    assert np.signbit(result("min.xorsign.abs.f32", "f32", "f32", a[3:], "f32", b[3:])).all()


def test_integer_division_by_zero_does_not_trap():
    assert result("div.s32", "s32", "s32", [-7, 7, 5], "s32", [2, -2, 0]).tolist() == [-3, -3, -1]
    assert result("rem.s32", "s32", "s32", [-7, 7, 5], "s32", [2, -2, 0]).tolist() == [-1, 1, -1]


def test_float_to_integer_saturates():
    values = np.array([3e9, -3e9, np.nan, -0.7, 2.5], np.float32)
    assert result("cvt.rzi.s32.f32", "s32", "f32", values).tolist() == [2**31 - 1, -(2**31), 0, 0, 2]
    assert result("cvt.rni.s32.f32", "s32", "f32", values[3:]).tolist() == [-1, 2]


def test_extended_precision():
    """A 64-bit sum and product from 32-bit halves."""
    body = """mov.b64 {x2, x3}, w2; mov.b64 {x4, x5}, w3; add.cc.u32 x6, x2, x4; addc.u32 x7, x3, x5;
        sub.cc.u32 x8, x2, x4; subc.u32 x9, x3, x5; mul.lo.u32 x10, x2, x4; mad.hi.cc.u32 x11, x2, x4, 0;
        mov.b64 w4, {x6, x7}; mov.b64 w5, {x8, x9}; mov.b64 w6, {x10, x11};
        st.global.b64 [w0], w4; st.global.b64 [w0+8], w5; st.global.b64 [w0+16], w6;"""
    a, b = 0x1_8000_0001, 0x2_9000_0003
    text = group_corpus.program(f"mov.b64 w2, {a}; mov.b64 w3, {b};" + body)
    case = lane_corpus.Case("extended", text, [np.zeros(3, np.uint64), np.zeros(1, np.uint64)],
                            [("buffer", 0), ("buffer", 1)], block=(1, 1, 1))  # fmt: skip
    (out, _), report = lane_corpus.run_simulated(case)
    assert report.clean
    assert out.tolist() == [a + b, (a - b) % 2**64, (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF)]


def test_calls_of_device_functions():
    """f(x) = x * 3 for even x, else x: called twice, with two ways out."""
    function = """.func (.param .b32 result) f(.param .b32 x) { .reg .b32 a, b; .reg .pred odd;
        ld.param.b32 a, [x]; and.b32 b, a, 1; setp.eq.u32 odd, b, 1; st.param.b32 [result], a; @odd ret;
        mul.lo.u32 a, a, 3; st.param.b32 [result], a; ret; }"""
    call = "{ .param .b32 p; .param .b32 r; st.param.b32 [p], x1; call.uni (r), f, (p); ld.param.b32 x1, [r]; }"
    case = group_corpus.simple("calls", call + call + "mov.u32 x0, x1;", source=np.arange(128, dtype=np.uint32))
    case.ptx = case.ptx.replace(".visible .entry", function + "\n.visible .entry")
    (out, x), report = lane_corpus.run_simulated(case)
    assert report.clean
    assert (out == np.where(x % 2 == 0, 9 * x, x)).all()


def test_shifts_past_the_width():
    assert result("shl.b32", "b32", "b32", [1, 1], "u32", [31, 32]).tolist() == [1 << 31, 0]
    assert result("shr.s32", "s32", "s32", [-4, -4], "u32", [1, 40]).tolist() == [-2, -1]


@pytest.mark.parametrize(("name", "start"), [
    ("wgmma m64n64k32 s32 s8 swizzle 128", "mov.b32 a{}, 0;"), ("mma m16n8k32 s32 s8 s8", "mov.u32 x4{}, 0;"),
])  # fmt: skip
@pytest.mark.parametrize("first", [2**31 - 1, -(2**31)])
def test_integer_sums_wrap_around_or_saturate(name, start, first):
    """Two products, each added to accumulators that begin at the end of the range."""
    case = next(c for c in group_corpus.group_cases() if c.name == name)
    twice = lane_corpus.run_simulated(case)[0][0].view(np.int32).astype(np.int64)
    accumulators = range(4 if name.startswith("mma") else 32)
    for j in accumulators:
        case.ptx = case.ptx.replace(start.format(j), start.format(j).replace("0;", f"{first};"))
    case.ptx = case.ptx.replace("setp.ne.u32 q2", "setp.eq.u32 q2")  # the first of WGMMA's two adds, too
    low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max

    wrapped = lane_corpus.run_simulated(case)[0][0].view(np.int32)
    for form in ("m64n64k32.s32", "row.col.s32"):
        case.ptx = case.ptx.replace(form, form.replace("s32", "satfinite.s32"))
    saturated = lane_corpus.run_simulated(case)[0][0].view(np.int32)

    assert twice.any()
    assert (wrapped == (twice + first - low) % 2**32 + low).all()
    assert (saturated == np.clip(np.clip(first + twice // 2, low, high) + twice // 2, low, high)).all()


def test_wgmma_agrees_with_a_matrix_product():
    """K-major operands without a swizzle: core matrices of 8 rows by 16 bytes, as the descriptor says."""
    case = next(c for c in group_corpus.wgmma_cases() if c.name == "wgmma m64n64k16 f32 f16 swizzle 0")
    outputs, _ = lane_corpus.run_simulated(case)
    halves = case.buffers[1].view(np.float16).astype(np.float32)

    def operand(start, rows):
        row, column = np.arange(rows)[:, None], np.arange(16)[None]
        return halves[start // 2 + (row // 8 * 256 + row % 8 * 16 + column // 8 * 128) // 2 + column % 8]

    product = 2 * operand(0, 64) @ operand(32768, 64).T
    thread, element = np.arange(128)[:, None], np.arange(32)[None]
    rows = 16 * (thread // 32) + thread % 32 // 4 + 8 * (element // 2 % 2)
    columns = 8 * (element // 4) + 2 * (thread % 4) + element % 2
    assert (outputs[0].view(np.float32).reshape(128, 32) == product[rows, columns]).all()


@pytest.mark.parametrize(("name", "function"), [
    ("tanh", np.tanh), ("ex2", np.exp2), ("lg2", np.log2), ("sin", np.sin), ("cos", np.cos),
    ("rsqrt", lambda x: 1 / np.sqrt(x))])  # fmt: skip
def test_approximate_functions_are_numpys(name, function):
    """references/simulator.md: what a GPU's are off by does not show."""
    x = np.linspace(0.1, 7.9, 64).astype(np.float32)
    y = result(f"{name}.approx.f32", "f32", "f32", x)[:64]

    np.testing.assert_allclose(y, function(x.astype(np.float64)), rtol=2.0**-22)

