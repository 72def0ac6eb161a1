# ruff: noqa: E501  PTX reads better unbroken
"""tcgen05 in small kernels: products and moves against NumPy, and each defect that is looked for, planted in one of them."""

import numpy as np
import pytest
from kernel_harness.simulator import Memory, UnsupportedInstruction, simulate
from lane_corpus import HEADER

pytestmark = pytest.mark.cpu

# bar: mbarrier; slot: address of the tensor memory; t thread, r rank of the CTA; q0 t == 0, q1 first warp, q2 even CTA.
DECLARATIONS = """
    .reg .b32 t, r, q, f<140>; .reg .b32 x<20>; .reg .b64 w<12>; .reg .pred q<8>; .reg .b16 h0;
    .shared .align 1024 .b8 tiles[16384]; .shared .align 8 .b8 bar[8]; .shared .align 4 .b8 slot[4];
    mov.u32 t, %tid.x; mov.u32 r, %cluster_ctarank; ld.param.u64 w0, [p0]; ld.param.u64 w1, [p1];
    setp.eq.u32 q0, t, 0; setp.lt.u32 q1, t, 32; setp.eq.u32 q2, r, 0; mov.u32 x1, tiles; mov.u32 x2, bar; mov.u32 x3, slot;
    shr.u32 q, t, 5; and.b32 q, q, 3; shl.b32 q, q, 21;
"""


def run(lines, source=None, words=0, ctas=1, threads=128):
    """Runs numbered lines of PTX on one cluster. `source`: what each CTA finds at w1; `words`: of each thread at w0."""
    body = "\n".join(f".loc 1 {number} 0\n{line}" for number, line in enumerate(lines, 1))
    memory = Memory()
    out = memory.allocate(4 * max(words, 1) * threads * ctas, "out", written=False)
    given = np.zeros((ctas, 16384), np.uint8) if source is None else source
    data = memory.allocate(given.nbytes, "in", written=True)
    data.data[:] = given.ravel()
    places = f"mad.lo.u32 x4, r, {threads}, t; mul.wide.u32 w2, x4, {4 * words}; add.s64 w0, w0, w2; mul.wide.u32 w2, r, 16384; add.s64 w1, w1, w2;"
    text = f'{HEADER}.visible .entry test(.param .u64 p0, .param .u64 p1)\n{{{DECLARATIONS}{places}\n{body}\nret;\n}}\n.file 1 "kernel.py"\n'
    addresses = [buffer.base.to_bytes(8, "little") for buffer in (out, data)]
    report = simulate(text, None, (ctas, 1, 1), (threads, 1, 1), (ctas, 1, 1), 0, addresses, memory)
    return report, out.data.view(np.uint32).reshape(ctas, threads, -1).copy()


def clean(lines, **options):
    report, out = run(lines, **options)
    assert report.clean, "\n".join(map(str, report.findings))
    return out


def expect(lines, kind, line, word="", **options):
    report, _ = run(lines, **options)
    found = [(f.kind, f.line) for f in report.findings]
    assert (kind, line) in found, "\n".join(map(str, report.findings))
    assert any(word in str(f) for f in report.findings if (f.kind, f.line) == (kind, line)), str(report.findings[0])


def changed(lines, number, text=""):
    return [*lines[: number - 1], text, *lines[number:]]


FILL = "mov.u32 x5, t; COPY: setp.ge.u32 q3, x5, 1024; @q3 bra FILLED; shl.b32 x6, x5, 4; cvt.u64.u32 w4, x6; add.s64 w4, w1, w4; add.u32 x6, x6, x1; ld.global.v4.b32 {x7, x8, x9, x10}, [w4]; st.shared.v4.b32 [x6], {x7, x8, x9, x10}; add.u32 x5, x5, 128; bra COPY; FILLED:"
WAIT = "WAITING: mbarrier.try_wait.parity.shared.b64 q4, [x2], 0; @!q4 bra WAITING;"
SYNC = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"


def descriptor(register, offset):
    """K-major without a swizzle: core matrices of 8 rows by 16 bytes, two of them side by side."""
    constant = 128 >> 4 << 16 | 256 >> 4 << 32 | 1 << 46
    return f"add.u32 x7, x1, {offset}; and.b32 x7, x7, 0x3ffff; shr.u32 x7, x7, 4; cvt.u64.u32 {register}, x7; or.b64 {register}, {register}, {constant};"


def instruction(m, n, d=1, a=0, b=0, more=0):
    return d << 4 | a << 7 | b << 10 | n >> 3 << 17 | m >> 4 << 24 | more


def product(m, n, kind="f16", group=1, idesc=None, columns=32, loads="32x32b.x{n}", registers=None, mma="", mask=""):
    """The lines of a kernel that writes the tensor memory of each thread's lane to w0, after two products D = 2 A B^T."""
    registers = registers or n
    names = ", ".join(f"f{i}" for i in range(registers))
    stores = " ".join(f"st.global.b32 [w0+{4 * i}], f{i};" for i in range(registers))
    cta, issuer = f"cta_group::{group}", "@q0" if group == 1 else "@q5"
    commit = "shared::cluster.b64 [x2]" if group == 1 else "shared::cluster.multicast::cluster.b64 [x2], h0"
    issue = f"{issuer} tcgen05.mma.{cta}.kind::{kind} [x11], w6, w7, x12{mask},"
    return [
        FILL,
        "fence.proxy.async.shared::cta;",
        f"@q0 mbarrier.init.shared.b64 [x2], 1; and.pred q5, q0, q2; mov.b16 h0, 3; fence.mbarrier_init.release.cluster; {SYNC}",
        f"@q1 tcgen05.alloc.{cta}.sync.aligned.shared::cta.b32 [x3], {columns}; bar.sync 0;",
        f"ld.shared.b32 x11, [x3]; {descriptor('w6', 0)} {descriptor('w7', 8192)} mov.u32 x12, {instruction(m, n) if idesc is None else idesc}; setp.ne.u32 q6, t, t; setp.eq.u32 q7, t, t;",
        f"{issue} q6;",
        mma or f"{issue} q7;",
        f"{issuer} tcgen05.commit.{cta}.mbarrier::arrive::one.{commit};",
        WAIT,
        f"add.u32 x13, x11, q; tcgen05.fence::after_thread_sync; tcgen05.ld.sync.aligned.{loads.format(n=n)}.b32 {{{names}}}, [x13];",
        "tcgen05.wait::ld.sync.aligned;",
        stores,
        f"tcgen05.fence::before_thread_sync; bar.sync 0; {SYNC}",
        f"@q1 tcgen05.relinquish_alloc_permit.{cta}.sync.aligned; @q1 tcgen05.dealloc.{cta}.sync.aligned.b32 x11, {columns};",
    ]


def tiles(generator, ctas, rows_a, rows_b, dtype, low=-4, high=5):
    """Operands of 32 bytes per row: (A, B) as small integers, and the bytes that each CTA has of them."""
    per = 32 // np.dtype(dtype).itemsize
    a, b = (generator.integers(low, high, (ctas * rows, per)) for rows in (rows_a, rows_b))
    memory = np.zeros((ctas, 16384), np.uint8)
    for start, values, rows in ((0, a, rows_a), (8192, b, rows_b)):
        raw = values.astype(dtype).view(np.uint8).reshape(ctas, rows, 32)
        for row in range(rows):
            for chunk in range(2):
                at = start + row // 8 * 256 + row % 8 * 16 + chunk * 128
                memory[:, at : at + 16] = raw[:, row, 16 * chunk : 16 * chunk + 16]
    return a, b, memory


@pytest.mark.parametrize(("kind", "dtype", "a", "d", "out"), [
    ("f16", np.float16, 0, 1, np.float32), ("f16", np.float16, 0, 0, np.float16), ("tf32", np.float32, 2, 1, np.float32),
    ("i8", np.int8, 1, 2, np.int32), ("i8", np.uint8, 0, 2, np.int32),
])  # fmt: skip
def test_product_of_128_rows(kind, dtype, a, d, out):
    low = 0 if dtype == np.uint8 else -4
    left, right, memory = tiles(np.random.default_rng(0), 1, 128, 16, dtype, low)
    lines = product(128, 16, kind, idesc=instruction(128, 16, d, a, a))
    words = clean(lines, source=memory, words=16)[0]
    values = np.ascontiguousarray(words).view(out).reshape(128, 16, -1)[..., 0]
    assert (values == 2 * left @ right.T).all()


@pytest.mark.parametrize(("code", "bits", "table"), [
    (0, 8, {0x38: 1, 0xC0: -2, 0: 0}), (1, 8, {0x3C: 1, 0xC0: -2, 0: 0}), (3, 6, {8: 1, 48: -2, 0: 0, 9: 1.125}),
    (4, 6, {12: 1, 48: -2, 0: 0}), (5, 4, {2: 1, 12: -2, 0: 0, 15: -6}),
])  # fmt: skip
def test_formats_of_kind_f8f6f4(code, bits, table):
    """e4m3, e5m2, e2m3, e3m2, e2m1: 16 elements at the start of 16 bytes."""
    codes = np.random.default_rng(1).choice(list(table), (144, 32))
    packed = np.zeros((144, 2, 128), np.uint8)
    for bit in range(bits):
        packed[:, :, bit : 16 * bits : bits] = codes.reshape(144, 2, 16) >> bit & 1
    memory = np.zeros((1, 16384), np.uint8)
    for start, first, rows in ((0, 0, 128), (8192, 128, 16)):
        for row in range(rows):
            for chunk in range(2):
                at = start + row // 8 * 256 + row % 8 * 16 + chunk * 128
                memory[0, at : at + 16] = np.packbits(packed[first + row, chunk], bitorder="little")
    words = clean(product(128, 16, "f8f6f4", idesc=instruction(128, 16, 1, code, code)), source=memory, words=16)[0]
    values = np.vectorize(table.get, otypes=[float])(codes)
    assert (words.view(np.float32) == 2 * values[:128] @ values[128:].T).all()


def test_product_of_64_rows_uses_half_of_the_lanes():
    """Rows 16 w to 16 w + 15 lie in the first lanes of warp w, read here as fragments of 8 x 8 words."""
    left, right, memory = tiles(np.random.default_rng(2), 1, 64, 8, np.float16)
    words = clean(product(64, 8, loads="16x256b.x1", registers=4), source=memory, words=4)[0].view(np.float32)
    expected = 2 * left @ right.T
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for register in range(4):
            row, column = 16 * warp + lane // 4 + 8 * (register // 2), 2 * (lane % 4) + register % 2
            assert words[thread, register] == expected[row, column]


@pytest.mark.parametrize("m", [128, 256])
def test_product_of_a_cta_pair(m):
    """M 256: 128 rows in each CTA. M 128: 64 rows, the second half of the columns in the lanes beside."""
    left, right, memory = tiles(np.random.default_rng(3), 2, m // 2, 16, np.float16)
    words = clean(product(m, 32, group=2, loads="32x32b.x32" if m == 256 else "32x32b.x16", registers=32 * m // 256),
                  source=memory, words=32 * m // 256, ctas=2).view(np.float32)  # fmt: skip
    expected = 2 * left @ right.T
    if m == 256:
        assert (words.reshape(256, 32) == expected).all()
    else:
        halves = words.reshape(2, 2, 64, 16)  # CTA, half of the columns, row, column
        assert (halves.transpose(0, 2, 1, 3).reshape(128, 32) == expected).all()


def test_negated_operand_scaled_sum_and_disabled_lanes():
    left, right, memory = tiles(np.random.default_rng(4), 1, 128, 16, np.float16)
    again = "@q0 tcgen05.mma.cta_group::1.kind::f16 [x11], w6, w7, x12, {0, 255, 0, 0}, q7, 2;"
    lines = product(128, 16, idesc=instruction(128, 16, more=1 << 13), mma=again.replace("{0, 255, 0, 0}", "{x14, x15, x14, x14}"))
    lines[4] += "mov.u32 x14, 0; mov.u32 x15, 255;"
    words = clean(lines, source=memory, words=16)[0].view(np.float32)
    once = -(left @ right.T)
    expected = once + once / 4
    expected[32:40] = once[32:40]
    assert (words == expected).all()


def test_weight_stationary_product():
    """.ws with 32 rows: a quarter of the columns in each 32 lanes."""
    left, right, memory = tiles(np.random.default_rng(5), 1, 32, 64, np.float16)
    lines = product(32, 64, loads="32x32b.x16", registers=16)
    lines[5:7] = [line.replace("tcgen05.mma.", "tcgen05.mma.ws.") for line in lines[5:7]]
    words = clean(lines, source=memory, words=16)[0].view(np.float32)
    assert (words.reshape(4, 32, 16).transpose(1, 0, 2).reshape(32, 64) == 2 * left @ right.T).all()


def test_left_operand_in_tensor_memory():
    """Two halves of a word are two elements along k."""
    left, right, memory = tiles(np.random.default_rng(6), 1, 128, 16, np.float16)
    flat = np.zeros((1, 16384), np.uint8)
    flat[0, :4096], flat[0, 8192:] = left.astype(np.float16).view(np.uint8).ravel(), memory[0, 8192:]
    lines = product(128, 16)
    lines[4] += "shl.b32 x14, t, 5; cvt.u64.u32 w4, x14; add.s64 w4, w1, w4;" + "".join(
        f"ld.global.b32 f{i}, [w4+{4 * i}];" for i in range(8)
    )
    lines[4] += "add.u32 x15, x11, 16; add.u32 x13, x15, q; tcgen05.st.sync.aligned.32x32b.x8.b32 [x13], {f0, f1, f2, f3, f4, f5, f6, f7}; tcgen05.wait::st.sync.aligned; bar.sync 0;"
    lines[5:7] = [line.replace("w6,", "[x15],") for line in lines[5:7]]
    words = clean(lines, source=flat, words=16)[0].view(np.float32)
    assert (words == 2 * left @ right.T).all()
    expect([line.replace("tcgen05.wait::st.sync.aligned;", "") for line in lines], "race", 6, "tcgen05.wait::st", source=flat, words=16)


E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def scaled(kind, suffix, idesc):
    """A product whose factors each thread stores: of A in columns 16 to 19, of B in column 20."""
    lines = product(128, 16, kind + suffix, idesc=idesc, mask=", [x14], [x15]")
    lines[4] += "and.b32 x14, t, 31; mad.lo.u32 x14, x14, 20, 12288; cvt.u64.u32 w4, x14; add.s64 w4, w1, w4;" + "".join(
        f"ld.global.b32 f{i}, [w4+{4 * i}];" for i in range(5)
    )
    lines[4] += "add.u32 x14, x11, 16; add.u32 x15, x11, 20; add.u32 x13, x14, q; tcgen05.st.sync.aligned.32x32b.x4.b32 [x13], {f0, f1, f2, f3}; add.u32 x13, x15, q; tcgen05.st.sync.aligned.32x32b.x1.b32 [x13], {f4}; tcgen05.wait::st.sync.aligned; bar.sync 0;"
    return lines


@pytest.mark.parametrize(("kind", "suffix", "starts", "count", "exponents"), [
    ("mxf8f6f4", ".block_scale", (1, 3), 1, True), ("mxf4", ".block_scale.scale_vec::2X", (2, 0), 2, True),
    ("mxf4nvf4", ".block_scale.scale_vec::4X", (0, 0), 4, False),
])  # fmt: skip
def test_block_scaled_product(kind, suffix, starts, count, exponents):
    """The factors of row m are bytes of lane m % 32, column m / 32, in each group of 32 lanes."""
    generator = np.random.default_rng(9)
    codes = generator.choice([126, 127, 128] if exponents else [0x30, 0x38, 0x40], (32, 5, 4)).astype(np.uint8)
    factors = np.ldexp(1.0, codes.astype(int) - 127 if exponents else (codes.astype(int) >> 3) - 7)
    of_a = factors[:, :4].transpose(1, 0, 2).reshape(128, 4)[:, starts[0] : starts[0] + count]
    of_b = factors[:16, 4, starts[1] : starts[1] + count]
    raw_a, raw_b, memory = tiles(generator, 1, 128, 16, np.uint8, 0, 256)
    if kind == "mxf8f6f4":
        raw_a, raw_b = raw_a % 2 * 0x38, raw_b % 2 * 0x38  # 0 or 1 as e4m3
        memory[:] = memory % 2 * 0x38
        left, right = raw_a / 0x38, raw_b / 0x38
    else:
        table = np.array([*E2M1, *(-value for value in map(float, E2M1))])
        left, right = (table[np.stack([raw & 15, raw >> 4], -1).reshape(len(raw), 64)] for raw in (raw_a, raw_b))
    memory[0, 12288 : 12288 + codes.size] = codes.ravel()
    code = 0 if kind == "mxf8f6f4" else 1
    idesc = starts[1] << 4 | code << 7 | code << 10 | 16 >> 3 << 17 | exponents << 23 | 128 >> 4 << 24 | starts[0] << 29
    words = clean(scaled(kind, suffix, idesc), source=memory, words=16)[0].view(np.float32)
    block = left.shape[1] // count
    assert (words == 2 * (left * of_a.repeat(block, 1)) @ (right * of_b.repeat(block, 1)).T).all()


def test_factors_that_are_not_in_every_group_of_lanes():
    idesc = 16 >> 3 << 17 | 1 << 23 | 128 >> 4 << 24
    lines = scaled("mxf8f6f4", ".block_scale", idesc)
    clean(lines, words=16)
    some = changed(lines, 5, lines[4].replace("tcgen05.st", "@q1 tcgen05.st"))
    expect(some, "uninitialised-read", 6, "scale factors", words=16)
    other = changed(lines, 5, lines[4].replace("add.u32 x13, x15, q;", "add.u32 x13, x15, q; add.u32 f4, f4, q;"))
    expect(other, "illegal-operand", 6, "groups of 32 lanes", words=16)


# Moves -----------------------------------------------------------------------------------------------------------

# Shape -> width in columns, (extents, strides) of the thread's modes and of the register's: the position of an element
# in row-major order, as nvidia-cutlass-dsl 4.8.1 prints layout_dst_tv of the copy atoms.
ATOMS = {
    "32x32b.x4": (4, ((32,), (4,)), ((4,), (1,))),
    "16x64b.x2": (4, ((2, 2, 8), (32, 1, 4)), ((2,), (2,))),
    "16x128b.x2": (8, ((4, 8), (1, 8)), ((2, 2), (64, 4))),
    "16x256b.x2": (16, ((4, 8), (2, 16)), ((2, 2, 2), (1, 128, 8))),
}


def position(modes, index):
    extents, strides = modes
    total = 0
    for extent, stride in zip(extents, strides, strict=True):
        total, index = total + index % extent * stride, index // extent
    return total


def moves(*instructions, words, columns=64):
    """Each thread stores 32 * lane + column in the first 32 columns of its lane, then executes `instructions`."""
    names = ", ".join(f"f{i}" for i in range(32))
    values = " ".join(f"add.u32 f{i}, x14, {i};" for i in range(32))
    stores = " ".join(f"st.global.b32 [w0+{4 * i}], f{i};" for i in range(words))
    return [
        f"@q1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [x3], {columns}; bar.sync 0; ld.shared.b32 x11, [x3]; add.u32 x13, x11, q; shl.b32 x14, t, 5; {values}",
        f"tcgen05.st.sync.aligned.32x32b.x32.b32 [x13], {{{names}}};",
        "tcgen05.wait::st.sync.aligned;",
        *instructions,
        stores,
        "bar.sync 0;",
        f"@q1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 x11, {columns};",
    ]


def load(shape, registers, at="x13", modifier="", end=""):
    names = ", ".join(f"f{i}" for i in range(registers))
    return f"tcgen05.ld.sync.aligned.{shape}{modifier}.b32 {{{names}}}, [{at}]{end}; tcgen05.wait::ld.sync.aligned;"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("shape", ATOMS)
def test_shapes_of_loads(shape, packed):
    width, threads, registers = ATOMS[shape]
    count = int(np.prod(registers[0]))
    out = clean(moves(load(shape, count, modifier=".pack::16b" if packed else ""), words=count), words=count)[0]
    for thread in range(128):
        for register in range(count):
            row, column = divmod(position(threads, thread % 32) + position(registers, register), width)
            first = 32 * (32 * (thread // 32) + row)
            expected = first + column if not packed else (first + 2 * column) & 0xFFFF | (first + 2 * column + 1) << 16
            assert out[thread, register] == expected


def test_split_load_reads_two_places():
    out = clean(moves(load("16x32bx2.x2", 2, end=", 8"), words=2), words=2)[0]
    thread = np.arange(128)
    first = 32 * (32 * (thread // 32) + thread % 16) + 8 * (thread % 32 // 16)
    assert (out == np.stack([first, first + 1], 1)).all()


def test_unpacked_store_is_the_packed_load_backwards():
    put = "mov.u32 f0, 0x50003; tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [x13], {f0}; tcgen05.wait::st.sync.aligned;"
    assert (clean(moves(put + load("32x32b.x2", 2), words=2), words=2)[0] == [3, 5]).all()


def test_upper_lanes_of_a_quadrant():
    out = clean(moves("add.u32 x13, x13, 0x100000;" + load("16x256b.x1", 4), words=4), words=4)[0]
    assert out[33].tolist() == [32 * 48 + 2, 32 * 48 + 3, 32 * 56 + 2, 32 * 56 + 3]


@pytest.mark.parametrize(("shape", "rows", "rows_of"), [
    ("32x128b.warpx4", 32, lambda lane: lane % 32), ("64x128b.warpx2::02_13", 64, lambda lane: lane % 64),
    ("64x128b.warpx2::01_23", 64, lambda lane: lane // 64 * 32 + lane % 32), ("128x128b", 128, lambda lane: lane),
])  # fmt: skip
def test_copies_from_shared_memory(shape, rows, rows_of):
    data = np.arange(4096, dtype=np.uint32)[None].view(np.uint8)
    lines = product(128, 16, loads="32x32b.x4", registers=4)
    lines[5:7] = [f"@q0 tcgen05.cp.cta_group::1.{shape} [x11], w6;", ""]
    out = clean(lines, source=data, words=4)[0]
    lanes = rows_of(np.arange(128))
    assert (out == (lanes // 8 * 64 + lanes % 8 * 4)[:, None] + np.arange(4)).all()
    expect(changed(lines, 2), "missing-proxy-fence", 6, source=data, words=4)


# Defects ---------------------------------------------------------------------------------------------------------

GOOD = product(128, 16)
GIVEN = {"source": tiles(np.random.default_rng(7), 1, 128, 16, np.float16)[2], "words": 16}
PAIR = product(256, 32, group=2)
PAIR_GIVEN = {"source": tiles(np.random.default_rng(8), 2, 128, 16, np.float16)[2], "words": 32, "ctas": 2}


@pytest.mark.parametrize(("number", "text", "kind", "line", "word"), [
    (2, "", "missing-proxy-fence", 6, "tcgen05.mma reads"),
    (1, "", "uninitialised-read", 6, "shared memory that nobody wrote"),
    (9, "bar.sync 0;", "accumulator-read-before-wait", 10, "mbarrier"),
    (8, "", "deadlock", 9, "mbarrier"),
    (6, "", "uninitialised-read", 7, "enable-input-d"),
    (6, GOOD[5].replace("@q0", ""), "missing-election", 6, "32 lanes"),
    (6, GOOD[5].replace("[x11]", "[x13]").replace("@q0", "add.u32 x13, x11, 32; @q0"), "out-of-bounds", 6, "column 32"),
    (6, GOOD[5].replace("[x11]", "[x13]").replace("@q0", "add.u32 x13, x11, 0x200000; @q0"), "illegal-operand", 6, "lane 32"),
    (6, "@q0 and.b64 w6, w6, -70368744177665;" + GOOD[5], "illegal-operand", 6, "bits 46 to 48"),
    (6, f"mov.u32 x12, {instruction(128, 24)};" + GOOD[5], "illegal-operand", 6, "M 128, N 24"),
    (4, GOOD[3].replace("32;", "48;"), "illegal-operand", 4, "power of two"),
    (4, GOOD[3].replace(" bar.sync", " @q1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; @q1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [x3], 32; bar.sync"),
     "tensor-memory", 4, "after tcgen05.relinquish_alloc_permit"),
    (4, GOOD[3].replace("32;", "512; @q1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [x3], 32;"), "deadlock", 4, "free columns"),
    (14, "", "tensor-memory", 4, "not freed"),
    (14, GOOD[13].replace("x11, 32", "x11, 64"), "tensor-memory", 14, "32 columns"),
    (13, "", "race", 14, "a warp may still be reading"),
    (10, GOOD[9].replace("x11, q", "x11, 0"), "illegal-operand", 10, "32 * (its number % 4)"),
    (10, GOOD[9].replace("x11, q;", "x11, q; add.u32 x13, x13, 17;"), "out-of-bounds", 10, "column 32"),
    (10, GOOD[9].replace("x11, q;", "x11, q; add.u32 x13, x13, 16;"), "uninitialised-read", 10, "stores it to global memory"),
    (10, GOOD[9].replace("x11, q;", "x11, q; add.u32 x13, x13, t;"), "illegal-operand", 10, "different values"),
    (8, GOOD[7].replace("group::1", "group::2"), "illegal-operand", 8, "all its tcgen05 instructions"),
])  # fmt: skip
def test_planted_in_one_cta(number, text, kind, line, word):
    clean(GOOD, **GIVEN)
    expect(changed(GOOD, number, text), kind, line, word, **GIVEN)


def test_mma_over_values_that_a_load_has_not_delivered():
    """A value that was used has come; one that was not may still be on its way when the next product is issued."""
    used = moves(load("32x32b.x1", 1).replace("tcgen05.wait::ld.sync.aligned;", "add.u32 f0, f0, 0;"), words=1)
    clean(used, words=1)
    assert "wait::ld" not in "".join(used)
    expect(moves("", load("32x32b.x1", 1).split(";")[0] + ";", words=0), "race", 8, "tcgen05.wait::ld did not come")


def test_store_over_a_product_that_is_not_done():
    put = "mov.u32 f0, 0; add.u32 x13, x11, q; tcgen05.st.sync.aligned.32x32b.x1.b32 [x13], {f0}; tcgen05.wait::st.sync.aligned;"
    expect(changed(GOOD, 9, put), "race", 9, "the tensor core may still be writing", **GIVEN)


def test_commit_publishes_nothing_of_its_thread():
    """What the thread wrote itself before the commit is not ordered for those who wait for the mbarrier."""
    lines = changed(GOOD, 8, "@q0 st.shared.b32 [x1+12288], t;" + GOOD[7])
    expect(changed(lines, 11, GOOD[10] + "ld.shared.b32 f15, [x1+12288];"), "race", 11, "shared memory", **GIVEN)


def test_unknown_value_through_tensor_memory():
    put = "ld.shared.b32 f0, [x1]; tcgen05.st.sync.aligned.32x32b.x1.b32 [x13], {f0}; tcgen05.wait::st.sync.aligned;"
    expect(moves(put, load("32x32b.x1", 1), words=1), "uninitialised-read", 5, "stores it to global memory", words=1)


def test_load_of_what_was_just_stored():
    expect(changed(moves(load("32x32b.x1", 1), words=1), 3), "race", 4, "tcgen05.wait::st", words=1)


@pytest.mark.parametrize(("number", "text", "kind", "line", "word"), [
    (4, PAIR[3].replace("@q1 tcgen05.alloc", "and.pred q6, q1, q2; @q6 tcgen05.alloc"), "deadlock", 4, "peer CTA"),
    (8, PAIR[7].replace("@q5", "mov.b16 h0, 1; @q5"), "deadlock", 9, "mbarrier"),
    (9, f"@!q2 bra LATER; {WAIT} LATER:", "accumulator-read-before-wait", 10, "mbarrier"),
], ids=["allocation-in-one-cta", "commit-to-one-cta", "wait-in-one-cta"])  # fmt: skip
def test_planted_in_a_cta_pair(number, text, kind, line, word):
    clean(PAIR, **PAIR_GIVEN)
    expect(changed(PAIR, number, text), kind, line, word, **PAIR_GIVEN)


@pytest.mark.parametrize(("line", "commits"), [(7, 1), (8, 3)])
def test_peer_that_does_not_stay(line, commits):
    """The odd CTA leaves without having waited for the product, or for the commit that signals its mbarrier."""
    commit = PAIR[7].replace("@q5", f"mov.b16 h0, {commits}; @q5")
    lines = [*PAIR[:7], commit, f"@!q2 bra FREE; {WAIT}", *PAIR[9:12], "FREE: bar.sync 0;", PAIR[13]]
    expect(lines, "cluster-lifetime", line, "may have exited", **PAIR_GIVEN)


@pytest.mark.parametrize("bit", [49, 52, 61])
def test_descriptors_that_are_not_implemented(bit):
    with pytest.raises(UnsupportedInstruction, match="matrix descriptor"):
        run(changed(GOOD, 6, f"or.b64 w6, w6, {1 << bit};" + GOOD[5]), **GIVEN)


@pytest.mark.parametrize("form", [
    "tcgen05.shift.cta_group::1.down [x11];", "tcgen05.mma.sp.cta_group::1.kind::f16 [x11], w6, w7, [x11], x12, q6;",
    "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [x11], w6, w7, x12, [x11], [x11], q6;",
    "tcgen05.mma.cta_group::2.kind::f16 [x11], w6, w7, x12, q6;", "tcgen05.cp.cta_group::1.4x256b [x11], w6;", "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {f0, f1}, f2, [x11];",
])  # fmt: skip
def test_what_is_not_implemented_stops_with_its_name(form):
    with pytest.raises(UnsupportedInstruction, match=form.split(" ", maxsplit=1)[0].rstrip(";").replace(".", r"\.")):
        run([form])
