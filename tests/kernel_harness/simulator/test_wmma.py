# ruff: noqa: E501  PTX reads better unbroken
"""wmma against NumPy's matrix products, and what it must not be given."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import group_corpus
import lane_corpus
import numpy as np
import pytest
from kernel_harness.compiled import cuda_source
from kernel_harness.simulator import UnsupportedInstruction
from kernel_harness.simulator.wmma import Fragment
from one_kernel import expect, expect_clean, run, without

HERE = Path(__file__).resolve().parent
TYPES = {"f16": np.float16, "f32": np.float32, "tf32": np.float32, "bf16": np.uint16, "s8": np.int8, "u8": np.uint8, "s32": np.int32}


def matrix(memory, name, shape, layout, kind, pad):
    """A matrix of the wmma shape as float64, from bytes; B is (k, n)."""
    lines, elements = group_corpus.wmma_lines(name, shape, layout)
    values = memory.reshape(-1).view(np.uint8)[group_corpus.WMMA_PLACES[name] :].view(TYPES[kind])
    rows = np.lib.stride_tricks.as_strided(values, (lines, elements), ((elements + pad) * values.itemsize, values.itemsize))
    if kind == "bf16":
        rows = (rows.astype(np.uint32) << 16).view(np.float32)
    return rows.astype(np.float64) if layout == "row" else rows.astype(np.float64).T


@pytest.mark.parametrize("form", group_corpus.WMMA_FORMS, ids=lambda form: "-".join(map(str, (*form[:4], *form[4], *form[5:]))))
@pytest.mark.cpu
def test_products_are_those_of_numpy(form):
    shape, kind, c_kind, d_kind, layouts, _, pad = form
    case = group_corpus._wmma(*form)

    (out, source), report = lane_corpus.run_simulated(case)

    assert report.clean, "\n".join(map(str, report.findings))
    a, b, c = (matrix(source, name, shape, layout, of, pad) for name, layout, of in zip("abc", layouts, (kind, kind, c_kind), strict=False))
    d = matrix(out, "d", shape, layouts[3], d_kind, pad)
    assert (d == a @ b + c).all()
    assert len(np.unique(d)) > 20
    lines, elements = group_corpus.wmma_lines("d", shape, layouts[3])
    filled = np.zeros((lines, elements + pad), bool)
    filled[:, :elements] = True
    rest = out.view(TYPES[d_kind])
    assert not rest[: filled.size].reshape(filled.shape)[~filled].any()
    assert not rest[filled.size :].any()


# Of lane 5 (group 1, member 1): where its first elements lie in a matrix without gaps, in elements, from the addresses
# that the code of ptxas 13 for sm_90a loads them from.
@pytest.mark.cpu
@pytest.mark.parametrize(("matrix", "shape", "kind", "places"), [
    ("a", (16, 16, 16), "f16", [18, 19, 146, 147, 26, 27, 154, 155]), ("b", (16, 16, 16), "f16", [18, 19, 26, 27, 146, 147, 154, 155]),
    ("c", (16, 16, 16), "f32", [18, 19, 146, 147, 26, 27, 154, 155]), ("a", (32, 8, 16), "f16", [18, 19, 146, 147, 26, 27, 154, 155, 274]),
    ("b", (8, 32, 16), "bf16", [18, 19, 146, 147, 26, 27, 154, 155, 274]), ("c", (32, 8, 16), "f32", [10, 11, 74, 75, 138, 139, 202, 203]),
    ("c", (8, 32, 16), "f32", [65, 97, 73, 105, 81, 113, 89, 121]), ("a", (16, 16, 8), "tf32", [9, 73, 13, 77]),
    ("b", (16, 16, 8), "tf32", [9, 13, 73, 77]), ("a", (32, 8, 16), "s8", [20, 21, 22, 23, 148, 149, 150, 151, 276]),
])  # fmt: skip
def test_fragments_are_those_of_ptxas(matrix, shape, kind, places):
    held = Fragment(matrix, shape, kind)
    rows, columns = held.places()
    assert (rows * held.size[1] + columns)[5][: len(places)].tolist() == places


# A product of shared memory, which the copies before it fill, with itself: 16 by 16 halves from a warp.
SELF = [
    "setp.lt.u32 q1, t, 32; st.shared.v2.b32 [x12], {t, t};",
    "bar.sync 0;",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {x20, x21, x22, x23, x24, x25, x26, x27}, [x13], {stride};",
    "wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {x30, x31, x32, x33, x34, x35, x36, x37}, [x10];",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {x0, x1, x2, x3}, {x20, x21, x22, x23, x24, x25, x26, x27}, {x30, x31, x32, x33, x34, x35, x36, x37}, {x8, x8, x8, x8};",
    "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [x14], {x0, x1, x2, x3}; mov.u32 x5, x10;",
    "bar.sync 0;",
    "ld.shared.b32 x1, [x16]; st.global.b32 [w3], x1;",
]
# x12: the thread's 8 bytes of the operand x13, which all warps multiply; x14: the sums of the warp, x16: a word of those of another.
EXTRA = """mov.u32 x8, 0; shl.b32 x12, t, 3; add.u32 x12, x10, x12; mov.u32 x13, x10; shr.u32 x14, t, 5; shl.b32 x15, x14, 9; add.u32 x14, x10, x15; add.u32 x14, x14, 1024;
    xor.b32 x16, t, 96; shl.b32 x16, x16, 4; add.u32 x16, x16, x10; add.u32 x16, x16, 1024;"""


def lines(stride=16, **changes):
    found = [line.replace("{stride}", str(stride)) for line in SELF]
    for number, change in changes.items():
        found[int(number[1:]) - 1] = found[int(number[1:]) - 1].replace(*change)
    return found


@pytest.mark.cpu
def test_a_product_is_clean_and_its_barriers_are_needed():
    expect_clean(lines(), extra=EXTRA)
    expect(without(lines(), 2), "race", 3, ["reads shared memory"], extra=EXTRA)
    expect(without(lines(), 7), "race", 8, ["reads shared memory"], extra=EXTRA)


@pytest.mark.cpu
def test_matrices_that_do_not_fit_their_memory():
    expect(lines(stride=200), "out-of-bounds", 3, ["4096 bytes"], extra=EXTRA)
    expect(lines(l6=("[x14]", "[x14+2048]")), "out-of-bounds", 6, ["4096 bytes"], extra=EXTRA)


@pytest.mark.cpu
def test_what_nobody_wrote_is_no_operand():
    expect(lines(l4=("[x10]", "[x10+1024]")), "uninitialised-read", 4, extra=EXTRA)


@pytest.mark.cpu
def test_pointers_and_strides_that_the_hardware_does_not_take():
    expect(lines(l3=("[x13]", "[x13+16]")), "misaligned", 3, ["32 bytes"], extra=EXTRA)
    expect(lines(stride=20), "misaligned", 3, ["multiple of 16"], extra=EXTRA)
    expect(lines(stride="t"), "illegal-operand", 3, ["different pointers or strides"], extra=EXTRA)


@pytest.mark.cpu
def test_sums_in_global_memory_race_within_a_cta():
    """Each warp stores its sums, and then reads those of another one."""
    mine = lines(l6=("shared.f16 [x14]", "global.f16 [w5]"), l8=("ld.shared.b32 x1, [x16];", "ld.global.b32 x1, [w6];"))
    extra = EXTRA + "cvt.u64.u32 w5, x15; add.s64 w5, w1, w5; xor.b32 x17, t, 96; mul.wide.u32 w6, x17, 16; add.s64 w6, w1, w6;"
    expect_clean(mine, extra=extra, source_words=512)
    expect(without(mine, 7), "race", 8, ["reads in + 1536 bytes", "after the write by thread (96, 0, 0)"], extra=extra, source_words=512)


@pytest.mark.parametrize(("text", "word"), [
    ("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {x0, x1}, {x2}, {x3}, {x4, x5};", "shape, type or modifier"),
    ("wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {x0}, [w1], 32;", "matrix, shape or type"),
    ("wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {w7}, [w1], 4;", "matrix, shape or type"),
    ("wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {x0, x1}, [w1], 16;", "2 registers"),
    ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite {x0, x1}, {x2}, {x3}, {x4, x5};", "shape, type or modifier"),
    ("wmma.mma.sync.aligned.row.col.m16n16k8.f32.bf16.bf16.f32 {x0, x1}, {x2}, {x3}, {x4, x5};", "shape, type or modifier"),
])  # fmt: skip
@pytest.mark.cpu
def test_other_forms_stop_the_run(text, word):
    with pytest.raises(UnsupportedInstruction, match=word):
        run([text])


@pytest.mark.compile
@pytest.mark.skipif(not cuda_source.nvcc(), reason="needs nvcc")
@pytest.mark.skipif(bool(shutil.which("nvidia-smi")), reason="on a GPU the source runs there, not in the simulator")
@pytest.mark.parametrize(("broken", "words"), [
    ("", None), ("SHARED", ["reads shared memory", "wmma.load.a"]), ("GLOBAL", ["gemm.cu:27", "reads argument 4 [63, 0]", "after the write by thread"]),
])  # fmt: skip
def test_a_kernel_in_cuda(broken, words):
    case = json.dumps({"broken": broken})
    command = [sys.executable, HERE / "run_file.py", HERE / "cuda_wmma.py", case]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[2] / "scripts")}

    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)

    assert done.returncode == 0, done.stderr[-2000:]
    row = json.loads(done.stdout.splitlines()[-1])
    if not broken:
        assert row["findings"] == []
        assert row["errors"][0] <= 1e-5 * row["scales"][0]
    else:
        races = [finding for finding in row["findings"] if ": race:" in finding]
        assert any(all(word in finding for word in words) for finding in races), row["findings"]
