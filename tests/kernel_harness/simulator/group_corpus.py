# ruff: noqa: E501  PTX reads better unbroken
"""Small PTX kernels for instructions that involve several threads: warps, barriers, copies, matrices, clusters."""

import numpy as np
from kernel_harness.simulator.tensor_copies import TensorMap
from lane_corpus import HEADER, Case

_INDEX = "mov.u32 t, %tid.x; mov.u32 i, %ctaid.x; mov.u32 n, %ntid.x; mad.lo.u32 i, i, n, t;"


def program(body, parameters=2, shared=0, maps=0, extra=""):
    """A kernel with parameters p0.. (pointers), then m0.. (tensor maps); %x are 32-bit and %w 64-bit registers."""
    names = [f".param .u64 p{i}" for i in range(parameters)] + [f".param .align 64 .b8 m{i}[128]" for i in range(maps)]
    array = f".shared .align 1024 .b8 smem[{shared}];" if shared else ""
    pointers = " ".join(f"ld.param.u64 w{i}, [p{i}];" for i in range(parameters))
    return f"""{HEADER}
.visible .entry test({", ".join(names)})
{{
    .reg .b32 t, i, n; .reg .b32 x<160>; .reg .b64 w<40>; .reg .pred q<16>; .reg .b16 h<16>; {extra}
    {array}
    {_INDEX}
    {pointers}
    {body}
    ret;
}}"""


def _element(pointer, register, kind, action, index="i", size=4):
    address = f"mul.wide.u32 w30, {index}, {size}; add.s64 w30, {pointer}, w30;"
    return (
        f"{address} ld.global.{kind} {register}, [w30];"
        if action == "load"
        else f"{address} st.global.{kind} [w30], {register};"
    )


def _words(count, seed=0, high=2**32):
    return np.random.default_rng(seed).integers(0, high, count, dtype=np.uint32)


def simple(name, body, threads=128, source=None, output=None, grid=1, **more):
    """x1 is loaded from p1 and x0 is stored to p0, both at the thread's global index."""
    count = threads * grid
    source = _words(count) if source is None else source
    text = program(
        _element("w1", "x1", "b32", "load") + body + _element("w0", "x0", "b32", "store"),
        **{k: more.pop(k) for k in ("shared", "extra") if k in more},
    )
    return Case(
        name,
        text,
        [np.zeros(count, np.uint32) if output is None else output, source],
        [("buffer", 0), ("buffer", 1)],
        (grid, 1, 1),
        (threads, 1, 1),
        **more,
    )


def warp_cases():
    cases = []
    for mode, value, clamp in (
        ("up", 3, 0),
        ("down", 5, 31),
        ("bfly", 9, 31),
        ("idx", 7, 31),
        ("up", 1, 0x1000),
        ("down", 2, 0x1807),
        ("idx", 3, 0x181F),
    ):
        cases.append(
            simple(
                f"shfl.sync.{mode} {value} {clamp}",
                f"shfl.sync.{mode}.b32 x0|q0, x1, {value}, {clamp}, -1; @q0 add.u32 x0, x0, 1;",
            )
        )
    cases.append(simple("shfl.sync.idx by lane", "and.b32 x2, x1, 31; shfl.sync.idx.b32 x0, x1, x2, 31, -1;"))
    for mode in ("all", "any", "uni"):
        cases.append(
            simple(
                f"vote.sync.{mode}",
                f"setp.gt.u32 q0, x1, 100; vote.sync.{mode}.pred q1, q0, -1; selp.u32 x0, 1, 0, q1;",
                source=_words(128, 1, 1000),
            )
        )
    cases.append(simple("vote.sync.ballot", "setp.gt.s32 q0, x1, 0; vote.sync.ballot.b32 x0, q0, -1;"))
    cases.append(
        simple(
            "activemask, divergent",
            "and.b32 x2, x1, 1; setp.eq.u32 q0, x2, 0; @q0 bra ODD; vote.sync.ballot.b32 x0, 1, -1; bra END; ODD: vote.sync.ballot.b32 x0, 1, -1; END:".replace(
                "vote.sync.ballot.b32 x0, 1, -1", "mov.u32 x0, 5"
            ),
        )
    )
    cases.append(simple("match.any.sync", "match.any.sync.b32 x0, x1, -1;", source=_words(128, 2, 6)))
    cases.append(simple("match.all.sync", "match.all.sync.b32 x0|q0, x1, -1;", source=np.repeat(_words(4, 3), 32)))
    for mode in ("add", "min", "max"):
        for kind in ("u32", "s32"):
            cases.append(simple(f"redux.sync.{mode}.{kind}", f"redux.sync.{mode}.{kind} x0, x1, -1;"))
    for mode in ("and", "or", "xor"):
        cases.append(simple(f"redux.sync.{mode}.b32", f"redux.sync.{mode}.b32 x0, x1, -1;"))
    cases.append(simple("elect.sync", "elect.sync x2|q0, -1; selp.u32 x0, 77, x2, q0;"))
    cases.append(
        simple(
            "elect.sync in half a warp",
            "and.b32 x2, t, 31; setp.lt.u32 q1, x2, 16; mov.u32 x0, 9; @q1 bra SKIP; elect.sync x2|q0, 0xffff0000; selp.u32 x0, 77, x2, q0; SKIP:",
        )
    )
    cases.append(
        simple(
            "loop with divergent trip counts",
            "and.b32 x2, x1, 15; mov.u32 x0, 0; LOOP: mad.lo.u32 x0, x0, 3, x2; sub.s32 x2, x2, 1; setp.ge.s32 q0, x2, 0; @q0 bra LOOP;",
        )
    )
    cases.append(
        simple(
            "lane masks",
            "mov.u32 x0, %lanemask_lt; mov.u32 x2, %lanemask_ge; xor.b32 x0, x0, x2; mov.u32 x2, %lanemask_gt; sub.u32 x0, x0, x2; mov.u32 x2, %laneid; add.u32 x0, x0, x2;",
        )
    )
    return cases


def memory_cases():
    cases = []
    shared = "mov.u32 x10, smem; shl.b32 x11, t, 2; add.u32 x11, x10, x11;"
    reverse = "xor.b32 x12, t, 127; shl.b32 x12, x12, 2; add.u32 x12, x10, x12;"
    cases.append(
        simple(
            "st.shared, bar.sync, ld.shared",
            f"{shared} st.shared.b32 [x11], x1; bar.sync 0; {reverse} ld.shared.b32 x0, [x12];",
            shared=512,
        )
    )
    cases.append(
        simple(
            "barrier.sync with a count",
            f"{shared} st.shared.b32 [x11], x1; barrier.sync 2, 128; {reverse} ld.shared.b32 x0, [x12];",
            shared=512,
        )
    )
    cases.append(simple("bar.arrive and bar.sync", f"{shared} setp.lt.u32 q0, t, 64; @q0 bra FIRST; bar.sync 1, 128; sub.u32 x12, x11, 256; ld.shared.b32 x0, [x12]; bra END; "
                        "FIRST: st.shared.b32 [x11], x1; bar.arrive 1, 128; mov.u32 x0, x1; END:", shared=512))  # fmt: skip
    for mode, kind in (("popc", "u32"), ("and", "pred"), ("or", "pred")):
        result = (
            "bar.red.popc.u32 x0, 0, q0;"
            if mode == "popc"
            else f"bar.red.{mode}.pred q1, 0, q0; selp.u32 x0, 1, 0, q1;"
        )
        cases.append(
            simple(f"bar.red.{mode}.{kind}", f"setp.gt.u32 q0, x1, 500; {result}", source=_words(128, 4, 1000))
        )
    cases.append(
        simple(
            "ld.global.v4, st.global.v4",
            "and.b32 x2, t, 3; setp.ne.u32 q0, x2, 0; @q0 bra SKIP; mul.wide.u32 w2, i, 4; add.s64 w3, w1, w2; add.s64 w4, w0, w2; "
            "ld.global.v4.b32 {x3, x4, x5, x6}, [w3]; st.global.v4.b32 [w4], {x6, x5, x4, x3}; SKIP: mul.wide.u32 w2, i, 4; add.s64 w4, w0, w2; ld.volatile.global.u32 x0, [w4];".replace(
                "ld.volatile.global.u32 x0, [w4];", "bar.sync 0; ld.volatile.global.u32 x0, [w4];"
            ),
        )
    )
    for operation, kind in (
        ("add", "u32"),
        ("min", "s32"),
        ("max", "u32"),
        ("and", "b32"),
        ("or", "b32"),
        ("xor", "b32"),
        ("inc", "u32"),
        ("dec", "u32"),
    ):
        output = _words(128, 9)
        text = program(
            _element("w1", "x1", "b32", "load")
            + f"and.b32 x2, i, 7; mul.wide.u32 w2, x2, 4; add.s64 w2, w0, w2; red.global.{operation}.{kind} [w2], x1;"
        )
        if operation in ("inc", "dec"):
            text = text.replace("], x1;", "], 1000;").replace("and.b32 x2, i, 7", "and.b32 x2, i, 7")
        cases.append(
            Case(
                f"red.global.{operation}.{kind}",
                text,
                [output, _words(128, 5)],
                [("buffer", 0), ("buffer", 1)],
                block=(128, 1, 1),
            )
        )
    cases.append(
        simple(
            "atom.shared.add",
            f"{shared} mov.u32 x3, 0; st.shared.b32 [x11], x3; bar.sync 0; and.b32 x4, t, 3; shl.b32 x4, x4, 2; add.u32 x4, x10, x4; atom.shared.add.u32 x5, [x4], x1; bar.sync 0; ld.shared.b32 x0, [x4];",
            shared=512,
        )
    )
    cases.append(
        simple(
            "atom.shared.cas loop",
            f"{shared} mov.u32 x3, 0; st.shared.b32 [x11], x3; bar.sync 0; LOOP: ld.volatile.shared.b32 x4, [x10]; add.u32 x5, x4, x1; atom.shared.cas.b32 x6, [x10], x4, x5; setp.ne.u32 q0, x6, x4; @q0 bra LOOP; bar.sync 0; ld.shared.b32 x0, [x10];",
            shared=512,
        )
    )
    cases.append(
        simple(
            "red.global.add.f32 of integers",
            "cvt.rn.f32.u32 x1, x1; and.b32 x2, i, 3; mul.wide.u32 w2, x2, 4; add.s64 w2, w0, w2; bar.sync 0; red.global.add.f32 [w2], x1; bar.sync 0; mul.wide.u32 w2, i, 4; add.s64 w2, w0, w2; ld.volatile.global.b32 x0, [w2];",
            source=_words(128, 6, 100),
        )
    )
    for size in (4, 8, 16):
        body = (
            f"mov.u32 x10, smem; mul.lo.u32 x11, t, {size}; add.u32 x11, x10, x11; mul.wide.u32 w2, t, {size}; add.s64 w2, w1, w2; cp.async.{'cg' if size == 16 else 'ca'}.shared.global [x11], [w2], {size}, %s; "
            "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; xor.b32 x12, t, 127; shl.b32 x12, x12, 2; add.u32 x12, x10, x12; ld.shared.b32 x0, [x12];"
        )
        cases.append(simple(f"cp.async {size}", body.replace(", %s", ""), shared=2048, source=_words(1024)))
        cases.append(
            simple(
                f"cp.async {size} zero fill",
                f"and.b32 x9, t, 1; mul.lo.u32 x9, x9, {size};" + body.replace("%s", "x9"),
                shared=2048,
                source=_words(1024),
            )
        )
    cases.append(
        simple(
            "local memory",
            ".local .align 4 .b8 stack[64]; mov.u64 w2, stack; cvta.local.u64 w2, w2; and.b32 x2, x1, 15; mul.wide.u32 w3, x2, 4; add.s64 w3, w2, w3; st.b32 [w3], t; ld.b32 x0, [w3]; add.u32 x0, x0, x1;",
        )
    )
    generic = "mov.u64 w2, smem; cvta.shared.u64 w2, w2; mul.wide.u32 w3, t, 4; add.s64 w3, w2, w3; st.b32 [w3], x1; bar.sync 0; xor.b32 x12, t, 64; mul.wide.u32 w3, x12, 4; add.s64 w3, w2, w3; ld.b32 x0, [w3]; isspacep.shared q0, w3; @q0 add.u32 x0, x0, 1; isspacep.global q0, w0; @q0 add.u32 x0, x0, 2;"
    cases.append(simple("generic addresses", generic, shared=512))
    return cases


def matrix_cases():
    cases = []
    fill = "mov.u32 x10, smem; shl.b32 x11, t, 4; add.u32 x11, x10, x11; mul.wide.u32 w2, t, 16; add.s64 w2, w1, w2; ld.global.v4.b32 {x2, x3, x4, x5}, [w2]; st.shared.v4.b32 [x11], {x2, x3, x4, x5}; bar.sync 0;"
    out = "mul.wide.u32 w2, t, 16; add.s64 w2, w0, w2; st.global.v4.b32 [w2], {x2, x3, x4, x5};"
    for count in (1, 2, 4):
        for transposed in ("", ".trans"):
            registers = ", ".join(f"x{20 + j}" for j in range(count))
            body = program(
                fill
                + f"ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16 {{{registers}}}, [x11];"
                + "".join(f"mov.u32 x{2 + j}, x{20 + j};" for j in range(count))
                + out,
                shared=512,
            )
            cases.append(
                Case(
                    f"ldmatrix.x{count}{transposed}",
                    body,
                    [np.zeros(128, np.uint32), _words(128)],
                    [("buffer", 0), ("buffer", 1)],
                )
            )
            body = program(
                fill
                + f"bar.sync 0; stmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16 [x11], {{{', '.join(f'x{2 + j}' for j in range(count))}}}; bar.sync 0; ld.shared.v4.b32 {{x2, x3, x4, x5}}, [x11];"
                + out,
                shared=512,
            )
            cases.append(
                Case(
                    f"stmatrix.x{count}{transposed}",
                    body,
                    [np.zeros(128, np.uint32), _words(128)],
                    [("buffer", 0), ("buffer", 1)],
                )
            )
    for shape, d, a, b, na, nb, nd in (
        ("m16n8k16", "f32", "f16", "f16", 4, 2, 4), ("m16n8k8", "f32", "f16", "f16", 2, 1, 4), ("m16n8k16", "f32", "bf16", "bf16", 4, 2, 4),
        ("m16n8k8", "f32", "bf16", "bf16", 2, 1, 4), ("m16n8k16", "f16", "f16", "f16", 4, 2, 2), ("m16n8k8", "f32", "tf32", "tf32", 4, 2, 4),
        ("m16n8k4", "f32", "tf32", "tf32", 2, 1, 4), ("m16n8k32", "s32", "s8", "s8", 4, 2, 4), ("m16n8k32", "s32", "u8", "s8", 4, 2, 4),
        ("m16n8k16", "s32", "s8", "u8", 2, 1, 4), ("m16n8k32", "f32", "e4m3", "e5m2", 4, 2, 4),
    ):  # fmt: skip
        cases.append(_mma(shape, d, a, b, na, nb, nd))
    return cases


def small_integers(kind, count, seed):
    """Values whose products and sums are exact in every accumulator."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, count)
    if kind == "f16":
        return values.astype(np.float16).view(np.uint8)
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    if kind == "tf32":
        return values.astype(np.float32).view(np.uint8)
    if kind in ("e4m3", "e5m2"):
        from kernel_harness.simulator.numerics import f32_to_fp8

        return f32_to_fp8(values.astype(np.float32), kind)
    return rng.integers(0, 256, count).astype(np.uint8)


def _mma(shape, d, a, b, na, nb, nd):
    per = {"f16": 2, "bf16": 2, "tf32": 1}.get(a, 4)
    load = "".join(f"ld.global.b32 x{20 + j}, [w2+{4 * j}];" for j in range(na)) + "".join(
        f"ld.global.b32 x{30 + j}, [w2+{16 + 4 * j}];" for j in range(nb)
    )
    vector = lambda start, count: "{" + ", ".join(f"x{start + j}" for j in range(count)) + "}"
    body = f"mul.wide.u32 w2, t, 32; add.s64 w2, w1, w2; {load} " + "".join(f"mov.u32 x{40 + j}, 0;" for j in range(4))
    body += f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d} {vector(40, nd)}, {vector(20, na)}, {vector(30, nb)}, {vector(40, nd)};"
    body += f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d} {vector(40, nd)}, {vector(20, na)}, {vector(30, nb)}, {vector(40, nd)};"
    body += "mul.wide.u32 w2, t, 16; add.s64 w2, w0, w2; st.global.v4.b32 [w2], {x40, x41, x42, x43};"
    data = np.zeros((32, 8), np.uint32)
    data[:, :4] = small_integers(a, 128 * per, 1).view(np.uint32).reshape(32, 4)
    data[:, 4:] = small_integers(b, 128 * per, 2).view(np.uint32).reshape(32, 4)
    return Case(
        f"mma {shape} {d} {a} {b}", program(body), [np.zeros(128, np.uint32), data], [("buffer", 0), ("buffer", 1)]
    )


# wmma: the layouts are those of A, B, C and D; a line of memory is `pad` elements longer than it must be.
WMMA_FORMS = [
    ("m16n16k16", "f16", "f32", "f32", ("row", "col", "row", "row"), "global", 0),
    ("m16n16k16", "f16", "f32", "f16", ("col", "row", "col", "row"), "shared", 16),
    ("m16n16k16", "f16", "f16", "f16", ("row", "row", "row", "col"), "generic", 8),
    ("m32n8k16", "f16", "f16", "f32", ("row", "col", "row", "row"), "shared", 8),
    ("m8n32k16", "f16", "f32", "f32", ("col", "row", "col", "row"), "global", 16),
    ("m16n16k16", "bf16", "f32", "f32", ("row", "col", "row", "col"), "shared", 8),
    ("m32n8k16", "bf16", "f32", "f32", ("col", "row", "row", "row"), "generic", 0),
    ("m8n32k16", "bf16", "f32", "f32", ("row", "col", "col", "row"), "shared", 8),
    ("m16n16k8", "tf32", "f32", "f32", ("row", "col", "row", "row"), "global", 0),
    ("m16n16k8", "tf32", "f32", "f32", ("col", "row", "col", "col"), "shared", 4),
    ("m16n16k16", "s8", "s32", "s32", ("row", "col", "row", "row"), "shared", 16),
    ("m32n8k16", "u8", "s32", "s32", ("col", "row", "row", "col"), "global", 16),
    ("m8n32k16", "s8", "s32", "s32", ("row", "row", "col", "row"), "generic", 0),
]
WMMA_PLACES = {"a": 0, "b": 2048, "c": 4096, "d": 0}  # bytes; A, B and C in what is read, D in what is written


def wmma_lines(matrix, shape, layout):
    """(lines of memory, elements of each) of a matrix of a wmma shape."""
    m, n, k = (int(number) for number in shape[1:].replace("n", " ").replace("k", " ").split())
    rows, columns = {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))
    return (rows, columns) if layout == "row" else (columns, rows)


def _wmma(shape, kind, c, d, layouts, space, pad):
    count = {"f16": {8: 8, 16: 8, 32: 8}, "tf32": {16: 4}}.get(kind, {8: 2, 16: 4, 32: 8})
    m, n = (int(number) for number in shape[1:].split("k")[0].split("n"))
    per = 2 if kind in ("s8", "u8") else 1
    sums = {"f16": 4, "f32": 8, "s32": 8}
    registers = {"a": count[m] // per, "b": count[n] // per, "c": sums[c], "d": sums[d]}
    first = {"a": 20, "b": 30, "c": 40, "d": 50}
    vectors = {name: "{" + ", ".join(f"x{first[name] + j}" for j in range(registers[name])) + "}" for name in first}
    copy = "".join(f"ld.global.v4.b32 {{x2, x3, x4, x5}}, [w3+{512 * j}]; st.shared.v4.b32 [x11+{512 * j}], {{x2, x3, x4, x5}};" for j in range(16))
    body = f"mov.u32 x10, smem; cvt.u64.u32 w5, x10; mul.wide.u32 w3, t, 16; cvt.u32.u64 x11, w3; add.u32 x11, x10, x11; add.s64 w3, w1, w3; {copy} bar.sync 0;"
    body += {"shared": "mov.b64 w6, w5;", "global": "mov.b64 w6, w1;", "generic": "cvta.shared.u64 w6, w5;"}[space]
    where = "" if space == "generic" else f".{space}"
    kinds = {"a": kind, "b": kind, "c": c, "d": d}
    for name, layout in zip("abc", layouts, strict=False):
        stride = f", {wmma_lines(name, shape, layout)[1] + pad}" if pad else ""
        body += f"wmma.load.{name}.sync.aligned.{layout}.{shape}{where}.{kinds[name]} {vectors[name]}, [w6+{WMMA_PLACES[name]}]{stride};"
    types = f"{d}.{c}" if kind == "f16" else f"{d}.{kind}.{kind}.{c}"
    body += f"wmma.mma.sync.aligned.{layouts[0]}.{layouts[1]}.{shape}.{types} {vectors['d']}, {vectors['a']}, {vectors['b']}, {vectors['c']};"
    stride = f", {wmma_lines('d', shape, layouts[3])[1] + pad}" if pad else ""
    body += f"wmma.store.d.sync.aligned.{layouts[3]}.{shape}.global.{d} [w0], {vectors['d']}{stride};"
    source = np.concatenate([small_integers(name, 8192, seed).view(np.uint8)[:size] for name, size, seed in ((kind, 4096, 1), ("tf32" if c == "f32" else c, 4096, 2))])
    return Case(
        f"wmma {shape} {kind} {c} {d} {' '.join(layouts)} {space} {pad}",
        program(body, shared=8192),
        [np.zeros(1024, np.uint32), source],
        [("buffer", 0), ("buffer", 1)],
    )


def wmma_cases():
    return [_wmma(*form) for form in WMMA_FORMS]


# mbarriers, bulk copies, tensor copies, clusters -----------------------------------------------------------------

_WAIT = "WAIT{0}: mbarrier.try_wait.parity.shared::cta.b64 q9, [{1}], {2}; @!q9 bra WAIT{0};"
_INIT = "mov.u32 x10, smem; add.u32 x12, x10, {offset}; setp.eq.u32 q0, t, 0; @q0 mbarrier.init.shared::cta.b64 [x12], {count}; @q0 fence.mbarrier_init.release.cluster; bar.sync 0;"


def copy_cases():
    cases = []
    bulk = (
        _INIT.format(offset=512, count=1)
        + "@q0 mbarrier.arrive.expect_tx.shared::cta.b64 w9, [x12], 512; @q0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [x10], [w1], 512, [x12];"
        + _WAIT.format(0, "x12", 0)
        + "xor.b32 x11, t, 127; shl.b32 x11, x11, 2; add.u32 x11, x10, x11; ld.shared.b32 x0, [x11];"
    )
    cases.append(simple("cp.async.bulk to shared", bulk, shared=1024))
    store = (
        "mov.u32 x10, smem; shl.b32 x11, t, 2; add.u32 x11, x10, x11; st.shared.b32 [x11], x1; fence.proxy.async.shared::cta; bar.sync 0; setp.eq.u32 q0, t, 0; "
        "@q0 cp.async.bulk.global.shared::cta.bulk_group [w0], [x10], 512; @q0 cp.async.bulk.commit_group; @q0 cp.async.bulk.wait_group 0; mov.u32 x0, x1;"
    )
    cases.append(simple("cp.async.bulk to global", store, shared=512))
    cases.append(simple("mbarrier of all threads, two phases", _INIT.format(offset=512, count=128) + "shl.b32 x11, t, 2; add.u32 x11, x10, x11; st.shared.b32 [x11], x1; mbarrier.arrive.shared::cta.b64 w9, [x12];"
                        + _WAIT.format(0, "x12", 0) + "xor.b32 x13, t, 1; shl.b32 x13, x13, 2; add.u32 x13, x10, x13; ld.shared.b32 x2, [x13]; mbarrier.arrive.shared::cta.b64 w9, [x12];"
                        + _WAIT.format(1, "x12", 1) + "st.shared.b32 [x11], x2; bar.sync 0; ld.shared.b32 x0, [x13];", shared=1024))  # fmt: skip
    cases.append(_tensor_load("2d no swizzle", np.uint16, (64, 32), (64, 32), (0, 0), 0, 1))
    cases.append(_tensor_load("2d swizzle 128", np.uint16, (128, 64), (64, 32), (64, 16), 128, 1))
    cases.append(_tensor_load("2d swizzle 64", np.uint16, (128, 64), (32, 32), (32, 8), 64, 1))
    cases.append(_tensor_load("2d swizzle 32", np.uint16, (128, 64), (16, 32), (16, 8), 32, 1))
    cases.append(_tensor_load("2d past the edge", np.uint16, (72, 40), (64, 32), (32, 24), 128, 1))
    cases.append(_tensor_load("2d negative coordinates", np.uint32, (64, 40), (32, 32), (-8, -5), 128, 2))
    cases.append(_tensor_load("1d", np.uint32, (256,), (128,), (100,), 0, 2))
    cases.append(_tensor_load("3d", np.uint32, (16, 12, 10), (8, 4, 6), (4, 10, 7), 0, 2))
    cases.append(_tensor_load("4d", np.uint32, (32, 6, 5, 4), (8, 4, 3, 2), (8, 3, 1, 3), 0, 2))
    cases.append(_tensor_load("3d of bytes", np.uint8, (64, 6, 5), (32, 4, 3), (16, 3, 1), 0, 0))
    cases.append(_tensor_load("5d", np.uint32, (8, 6, 5, 4, 3), (4, 3, 2, 2, 2), (4, 4, 1, 3, 2), 0, 2))
    cases.append(_tensor_store("2d swizzle 128", np.uint16, (72, 40), (64, 32), (32, 24), 128, 1))
    cases.append(_tensor_store("3d", np.uint32, (16, 12, 10), (8, 4, 6), (4, 10, 7), 0, 2))
    cases.append(_tensor_store("2d add", np.uint32, (64, 40), (32, 32), (8, 5), 128, 2, "add"))
    return cases


def unelected_cases():
    """Copies that several lanes issue: the GPU repeats them where the branch is not uniform. Reported as findings."""
    cases = []
    cases.append(
        _tensor_store(
            "2d add by a whole warp", np.uint32, (64, 40), (32, 32), (8, 5), 128, 2, "add", "lt.u32 q0, t, 32"
        )
    )
    cases.append(
        _tensor_store("2d add by eight lanes", np.uint32, (64, 40), (32, 32), (8, 5), 128, 2, "add", "lt.u32 q0, t, 8")
    )
    return cases


def _pitches(shape, size):
    """Byte strides of dimensions 1 and up, padded to 16 bytes."""
    strides, pitch = [], shape[0] * size
    for extent in shape[1:]:
        pitch = -(-pitch // 16) * 16
        strides.append(pitch)
        pitch *= extent
    return tuple(strides), pitch


def _tensor(shape, box, dtype, swizzle, element, buffer):
    strides, nbytes = _pitches(shape, np.dtype(dtype).itemsize)
    return (
        "map",
        lambda addresses: TensorMap(addresses[buffer], element, shape, strides, box, swizzle).encode(),
    ), nbytes


def _tensor_load(name, dtype, shape, box, at, swizzle, element):
    tensor, nbytes = _tensor(shape, box, dtype, swizzle, element, 1)
    size = int(np.prod(box)) * np.dtype(dtype).itemsize
    coordinates = ", ".join(str(c) for c in at)
    body = (
        "mov.u64 w5, m0; cvta.param.u64 w5, w5;"
        + _INIT.format(offset=8192, count=1)
        + f"@q0 mbarrier.arrive.expect_tx.shared::cta.b64 w9, [x12], {size};"
        + f"@q0 cp.async.bulk.tensor.{len(shape)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [x10], [w5, {{{coordinates}}}], [x12];"
        + _WAIT.format(0, "x12", 0)
        + f"mov.u32 x20, t; COPY: setp.ge.u32 q1, x20, {size // 4}; @q1 bra END; shl.b32 x21, x20, 2; add.u32 x22, x10, x21; ld.shared.b32 x23, [x22]; cvt.u64.u32 w6, x21; add.s64 w6, w0, w6; st.global.b32 [w6], x23; add.u32 x20, x20, 128; bra COPY; END:"
    )
    return Case(
        f"cp.async.bulk.tensor load {name}",
        program(body, 2, 16384, 1),
        [np.zeros(size // 4, np.uint32), _words(nbytes // 4)],
        [("buffer", 0), ("buffer", 1), tensor],
        block=(128, 1, 1),
    )


def _tensor_store(name, dtype, shape, box, at, swizzle, element, reduction=None, issuers="eq.u32 q0, t, 0"):
    tensor, nbytes = _tensor(shape, box, dtype, swizzle, element, 0)
    size = int(np.prod(box)) * np.dtype(dtype).itemsize
    coordinates = ", ".join(str(c) for c in at)
    form = (
        f"cp.reduce.async.bulk.tensor.{len(shape)}d.global.shared::cta.{reduction}.tile.bulk_group"
        if reduction
        else f"cp.async.bulk.tensor.{len(shape)}d.global.shared::cta.tile.bulk_group"
    )
    body = (
        f"mov.u64 w5, m0; cvta.param.u64 w5, w5; mov.u32 x10, smem; mov.u32 x20, t; COPY: setp.ge.u32 q1, x20, {size // 4}; @q1 bra END; shl.b32 x21, x20, 2; add.u32 x22, x10, x21; cvt.u64.u32 w6, x21; add.s64 w6, w1, w6; ld.global.b32 x23, [w6]; st.shared.b32 [x22], x23; add.u32 x20, x20, 128; bra COPY; END: "
        + f"fence.proxy.async.shared::cta; bar.sync 0; setp.{issuers}; @q0 {form} [w5, {{{coordinates}}}], [x10]; @q0 cp.async.bulk.commit_group; @q0 cp.async.bulk.wait_group 0;"
    )
    return Case(
        f"cp.async.bulk.tensor store {name}",
        program(body, 2, 16384, 1),
        [_words(nbytes // 4, 7), _words(size // 4, 8)],
        [("buffer", 0), ("buffer", 1), tensor],
        block=(128, 1, 1),
    )


def cluster_cases():
    cases = []
    arrive = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"
    exchange = (
        "mov.u32 x10, smem; shl.b32 x11, t, 2; add.u32 x11, x10, x11; st.shared.b32 [x11], x1;"
        + arrive
        + "mov.u32 x13, %cluster_ctarank; add.u32 x13, x13, 1; mov.u32 x14, %cluster_nctarank; rem.u32 x13, x13, x14; mapa.shared::cluster.u32 x12, x11, x13; ld.shared::cluster.b32 x0, [x12];"
        + arrive
    )
    cases.append(simple("distributed shared memory", exchange, shared=512, grid=4, cluster=(4, 1, 1)))
    generic = exchange.replace(
        "mapa.shared::cluster.u32 x12, x11, x13; ld.shared::cluster.b32 x0, [x12];",
        "cvt.u64.u32 w2, x11; cvta.shared.u64 w2, w2; mapa.u64 w2, w2, x13; ld.b32 x0, [w2]; getctarank.u64 x15, w2; add.u32 x0, x0, x15;",
    )
    cases.append(simple("distributed shared memory, generic", generic, shared=512, grid=4, cluster=(2, 1, 1)))
    cases.append(
        simple(
            "cluster special registers",
            "mov.u32 x0, %cluster_ctarank; mov.u32 x2, %cluster_nctarank; mad.lo.u32 x0, x0, 100, x2; mov.u32 x2, %clusterid.x; mad.lo.u32 x0, x0, 100, x2; mov.u32 x2, %cluster_ctaid.x; mad.lo.u32 x0, x0, 100, x2; mov.u32 x2, %nclusterid.x; mad.lo.u32 x0, x0, 100, x2;",
            grid=8,
            cluster=(2, 1, 1),
        )
    )
    remote = (
        _INIT.format(offset=512, count=1)
        + "@q0 mbarrier.arrive.expect_tx.shared::cta.b64 w9, [x12], 512;"
        + arrive
        + "mov.u32 x13, %cluster_ctarank; xor.b32 x13, x13, 1; shl.b32 x11, t, 2; add.u32 x11, x10, x11; mapa.shared::cluster.u32 x14, x11, x13; mapa.shared::cluster.u32 x15, x12, x13; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [x14], x1, [x15];"
        + _WAIT.format(0, "x12", 0)
        + "ld.shared.b32 x0, [x11];"
        + arrive
    )
    cases.append(simple("st.async", remote, shared=1024, grid=2, cluster=(2, 1, 1)))
    multicast = (
        _INIT.format(offset=512, count=1)
        + "@q0 mbarrier.arrive.expect_tx.shared::cta.b64 w9, [x12], 512;"
        + arrive
        + "mov.u32 x13, %cluster_ctarank; setp.eq.u32 q1, x13, 1; and.pred q1, q1, q0; mov.u16 h0, 3; @q1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [x10], [w1], 512, [x12], h0;"
        + _WAIT.format(0, "x12", 0)
        + "shl.b32 x11, t, 2; add.u32 x11, x10, x11; ld.shared.b32 x0, [x11];"
        + arrive
    )
    cases.append(simple("cp.async.bulk multicast", multicast, shared=1024, grid=2, cluster=(2, 1, 1)))
    remote_arrive = (
        _INIT.format(offset=512, count=256)
        + arrive
        + "shl.b32 x11, t, 2; add.u32 x11, x10, x11; mov.u32 x13, %cluster_ctarank; xor.b32 x14, x13, 1; mapa.shared::cluster.u32 x15, x11, x14; st.shared::cluster.b32 [x15], x1; mapa.shared::cluster.u32 x16, x12, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [x16]; mapa.shared::cluster.u32 x16, x12, 1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [x16];"
        + "WAIT0: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q9, [x12], 0; @!q9 bra WAIT0;"
        + "ld.shared.b32 x0, [x11];"
        + arrive
    )
    cases.append(simple("remote mbarrier arrival", remote_arrive, shared=1024, grid=2, cluster=(2, 1, 1)))
    return cases


def wgmma_cases():
    cases = []
    for n in (8, 64, 256):
        cases.append(_wgmma(n, 16, "f32", "bf16", "bf16", swizzle=128))
    cases.append(_wgmma(64, 16, "f32", "f16", "f16", swizzle=64))
    cases.append(_wgmma(64, 16, "f32", "f16", "f16", swizzle=32))
    cases.append(_wgmma(64, 16, "f32", "f16", "f16", swizzle=0))
    cases.append(_wgmma(64, 16, "f16", "f16", "f16", swizzle=128))
    cases.append(_wgmma(64, 8, "f32", "tf32", "tf32", swizzle=128))
    cases.append(_wgmma(64, 32, "f32", "e4m3", "e4m3", swizzle=128))
    cases.append(_wgmma(64, 32, "s32", "s8", "s8", swizzle=128))
    cases.append(_wgmma(64, 16, "f32", "bf16", "bf16", swizzle=128, registers=True))
    cases.append(_wgmma(64, 16, "f32", "bf16", "bf16", swizzle=128, transposes=(0, 1)))
    cases.append(_wgmma(64, 16, "f32", "bf16", "bf16", swizzle=128, transposes=(1, 1)))
    cases.append(_wgmma(128, 16, "f32", "bf16", "bf16", swizzle=64, transposes=(1, 1)))
    cases.append(_wgmma(64, 16, "f32", "bf16", "bf16", swizzle=0, transposes=(1, 1)))
    return cases


def _descriptor(register, address, swizzle, leading, stride):
    """PTX that builds a shared-memory matrix descriptor in a 64-bit register."""
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[swizzle]
    constant = (leading >> 4) << 16 | (stride >> 4) << 32 | mode << 62
    return f"and.b32 x60, {address}, 0x3ffff; shr.u32 x60, x60, 4; cvt.u64.u32 {register}, x60; or.b64 {register}, {register}, {constant};"


def _wgmma(n, k, d, a, b, swizzle, registers=False, transposes=(0, 0)):
    """Shared memory is filled with raw data, so every layout is exercised; the result shows which element went where."""
    per = {"f16": 2}.get(d, 1)
    count = n // 2 // per
    stride, leading = {0: (256, 128), 32: (256, 128), 64: (512, 128), 128: (1024, 128)}[swizzle]
    if any(transposes):
        leading = {0: 1024, 32: 512, 64: 1024, 128: 2048}[swizzle]
        stride = {0: 128, 32: 256, 64: 512, 128: 1024}[swizzle]
    first, second = 32768, 65536
    fill = f"mov.u32 x10, smem; mov.u32 x20, t; COPY: setp.ge.u32 q1, x20, {(first + second) // 16}; @q1 bra END; shl.b32 x21, x20, 4; add.u32 x22, x10, x21; cvt.u64.u32 w6, x21; add.s64 w6, w1, w6; ld.global.v4.b32 {{x23, x24, x25, x26}}, [w6]; st.shared.v4.b32 [x22], {{x23, x24, x25, x26}}; add.u32 x20, x20, 128; bra COPY; END: fence.proxy.async.shared::cta; bar.sync 0;"
    accumulators = [f"a{j}" for j in range(count)]
    body = (
        fill
        + "".join(f"mov.b32 {name}, 0;" for name in accumulators)
        + f"add.u32 x11, x10, {first};"
        + _descriptor("w10", "x10", swizzle, leading, stride)
        + _descriptor("w11", "x11", swizzle, leading, stride)
    )
    left = "w10"
    if registers:
        body += "mul.wide.u32 w7, t, 16; add.s64 w7, w1, w7; ld.global.v4.b32 {x30, x31, x32, x33}, [w7];"
        left = "{x30, x31, x32, x33}"
    arguments = "q2, 1" if d == "s32" else "q2, 1, 1"
    if d == "s32":
        arguments = "q2"
    elif a in ("f16", "bf16"):
        arguments += f", {transposes[1]}" if registers else f", {transposes[0]}, {transposes[1]}"
    vector = "{" + ", ".join(accumulators) + "}"
    issue = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b} {vector}, {left}, w11, {arguments};"
    body += (
        "wgmma.fence.sync.aligned; setp.ne.u32 q2, x10, x10;"
        + issue
        + "setp.eq.u32 q2, x10, x10;"
        + issue
        + "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    )
    body += f"mul.wide.u32 w7, t, {4 * count}; add.s64 w7, w0, w7;" + "".join(
        f"st.global.b32 [w7+{4 * j}], {name};" for j, name in enumerate(accumulators)
    )
    body = body.replace("mov.u32 x10, smem;", "mov.u32 x10, dynamic;")
    text = program(body, extra=f".reg .b32 a<{count}>;").replace(
        ".visible .entry", ".extern .shared .align 1024 .b8 dynamic[];\n.visible .entry"
    )
    data = np.concatenate(
        [
            small_integers(a, first * 8 // {"tf32": 32}.get(a, 16 if a in ("f16", "bf16") else 8), 1),
            small_integers(b, second * 8 // {"tf32": 32}.get(b, 16 if b in ("f16", "bf16") else 8), 2),
        ]
    )
    name = (
        f"wgmma m64n{n}k{k} {d} {a} swizzle {swizzle}"
        + (" from registers" if registers else "")
        + (f" transposes {transposes}" if any(transposes) else "")
    )
    return Case(
        name,
        text,
        [np.zeros(128 * count, np.uint32), data.view(np.uint32)],
        [("buffer", 0), ("buffer", 1)],
        block=(128, 1, 1),
        shared=first + second,
    )


def group_cases():
    return warp_cases() + memory_cases() + matrix_cases() + wmma_cases() + wgmma_cases() + copy_cases() + cluster_cases()
