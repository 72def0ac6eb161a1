# ruff: noqa: E501  PTX reads better unbroken
"""One small kernel from lines of PTX, run in the simulator: what the tests of findings share."""

import numpy as np
from kernel_harness.simulator import Memory, simulate
from lane_corpus import HEADER

THREADS = 128
_DECLARATIONS = """
    .reg .b32 t, i, n; .reg .b32 x<40>; .reg .b64 w<20>; .reg .pred q<8>; .reg .b16 h<4>;
    .shared .align 1024 .b8 smem[4096];
    mov.u32 t, %tid.x; mov.u32 i, %ctaid.x; mov.u32 n, %ntid.x; mad.lo.u32 i, i, n, t;
    ld.param.u64 w0, [p0]; ld.param.u64 w1, [p1]; mov.u32 x10, smem;
    shl.b32 x11, t, 2; add.u32 x11, x10, x11; mul.wide.u32 w2, i, 4; add.s64 w3, w0, w2; add.s64 w4, w1, w2; setp.eq.u32 q0, t, 0;
"""


def run(
    lines,
    grid=1,
    threads=THREADS,
    source_words=None,
    uninitialised_output=True,
    extra="",
    params=(),
    profile=None,
    cluster=1,
    options=None,
    shared=0,
    directives="",
    constant=False,
    **simulated,
):
    """Runs the body `lines`, line 1 first, on out (p0) and in (p1), one word per thread. Returns (report, out).

    In the body: t thread, i thread of the grid, n threads of a CTA, q0 t == 0; w0 out, w1 in, w3 and w4 the thread's
    words of them; x10 the 4096 bytes of shared memory, x11 the thread's word there. `simulated` goes to simulate().
    constant: nobody may write to in.
    """
    body = "\n".join(f".loc 1 {number} 0\n{line}" for number, line in enumerate(lines, 1))
    declared = "".join(f", .param .align 64 .b8 m{j}[128]" for j in range(len(params)))
    text = f'{HEADER}.visible .entry test(.param .u64 p0, .param .u64 p1{declared})\n{directives}\n{{{_DECLARATIONS}{extra}\n{body}\nret;\n}}\n.file 1 "kernel.py"\n'
    memory = Memory()
    out = memory.allocate(4 * threads * grid, "out", written=not uninitialised_output)
    source = memory.allocate(4 * (source_words or threads * grid), "in", written=True)
    source.data.view(np.uint32)[:] = np.arange(len(source.data) // 4)
    source.read_only = constant
    addresses = [out.base.to_bytes(8, "little"), source.base.to_bytes(8, "little")]
    given = addresses + [make(out.base, source.base) for make in params]
    shape = (grid, 1, 1), (threads, 1, 1), (cluster, 1, 1)
    report = simulate(text, None, *shape, shared, given, memory, profile, options=options, **simulated)
    return report, out.data.view(np.uint32).copy()


def expect(lines, kind, line, words=(), **options):
    """The first finding is of `kind` at `line`, and its message holds `words`."""
    report, _ = run(lines, **options)
    assert report.findings, "nothing was found"
    first = report.findings[0]
    assert (first.kind, first.line, first.file) == (kind, line, "kernel.py"), str(first)
    for word in words:
        assert word in str(first), str(first)
    return report


def expect_clean(lines, **options):
    report, out = run(lines, **options)
    assert report.clean, "\n".join(map(str, report.findings))
    return out


def without(lines, number):
    return [*lines[: number - 1], "", *lines[number:]]
