# ruff: noqa: E501  PTX reads better unbroken
"""CTAs that order themselves through global memory, each next to the same kernel with the order broken."""

import numpy as np
import pytest
from kernel_harness.simulator import global_order
from one_kernel import THREADS, expect, expect_clean, without

pytestmark = pytest.mark.cpu

# Each CTA writes its words and counts itself in, at [w1+496]; the last one reads the words of all the others.
LAST = ["st.global.b32 [w3], i;",
        "bar.sync 0;",
        "@q0 fence.acq_rel.gpu;",
        "@q0 atom.relaxed.gpu.global.add.u32 x3, [w1+496], 1; @q0 st.shared.b32 [x10], x3;",
        "bar.sync 0;",
        "ld.shared.b32 x3, [x10]; mov.u32 x4, %nctaid.x; add.u32 x4, x4, 123; setp.ne.u32 q1, x3, x4; @q1 bra END;",
        "mov.u32 x5, 0; mov.u32 x6, t;",
        "LOOP: mul.wide.u32 w5, x6, 4; add.s64 w5, w0, w5; ld.global.b32 x7, [w5]; add.u32 x5, x5, x7;",
        "add.u32 x6, x6, n; sub.u32 x7, x4, 123; mul.lo.u32 x7, x7, n; setp.lt.u32 q2, x6, x7; @q2 bra LOOP;",
        "st.global.b32 [w4], x5;", "END:"]  # fmt: skip
UNORDERED = ["reads out + ", "another CTA writes", "no fence or release behind that access"]


def changed(lines, number, *replaced):
    line = lines[number - 1]
    for before, after in zip(replaced[::2], replaced[1::2], strict=True):
        assert before in line
        line = line.replace(before, after)
    return [*lines[: number - 1], line, *lines[number:]]


@pytest.mark.parametrize("grid", [2, 40])
def test_the_last_cta_reads_what_the_others_released(grid):
    expect_clean(LAST, grid=grid)


@pytest.mark.parametrize("fence", ["membar.gl;", "fence.sc.gpu;", "fence.acq_rel.sys;"])
def test_any_fence_that_reaches_the_gpu_releases(fence):
    expect_clean(changed(LAST, 3, "fence.acq_rel.gpu;", fence), grid=3)


@pytest.mark.parametrize("fence", ["fence.acq_rel.cta;", "membar.cta;", "fence.proxy.async;", "fence.acq_rel.cluster;"])
def test_a_fence_of_less_does_not(fence):
    expect(changed(LAST, 3, "fence.acq_rel.gpu;", fence), "race", 8, ["another CTA writes"], grid=3)


def test_the_fence_must_follow_the_writes():
    expect(["", *LAST[1:3], LAST[0] + LAST[3], *LAST[4:]], "race", 8, UNORDERED, grid=3)


def test_a_fence_covers_the_writes_of_its_own_thread_unless_a_barrier_lies_before_it():
    report = expect(without(LAST, 2), "race", 8, UNORDERED, grid=3)
    assert report.findings[0].thread != (0, 0, 0)  # thread 0 reads what other threads 0 wrote
    assert report.findings[0].count == 2 * (THREADS - 1)


def test_a_barrier_hands_on_the_fence_of_every_thread():
    """As it is often written; the PTX ISA would have a fence in the thread that counts."""
    lines = [LAST[0] + "fence.acq_rel.gpu;", LAST[1], "", *LAST[3:]]
    expect_clean(lines, grid=3)
    expect(without(lines, 2), "race", 8, UNORDERED, grid=3)


@pytest.mark.parametrize(("order", "is_enough"), [("release", True), ("acq_rel", True), ("acquire", False)])
def test_an_atomic_that_releases(order, is_enough):
    lines = changed(without(LAST, 3), 4, "relaxed", order)
    if is_enough:
        expect_clean(lines, grid=3)
    else:
        expect(lines, "race", 8, UNORDERED, grid=3)


def test_a_write_after_the_release_is_not_covered():
    expect(changed(LAST, 5, "bar.sync 0;", "st.global.b32 [w3], 1; bar.sync 0;"), "race", 8, UNORDERED, grid=3)


def test_another_words_release_says_nothing():
    """The count is kept without order; the release goes to a word that nobody reads."""
    lines = changed(without(LAST, 3), 4, "@q0 atom", "@q0 st.release.gpu.global.b32 [w1+492], t; @q0 atom")
    expect(lines, "race", 8, UNORDERED, grid=3)


# CTA k waits for flag k - 1 (in, from word 128 on), adds a word to what it finds in out, and sets flag k.
CHAIN = ["@!q0 bra END; mov.u32 x2, %ctaid.x; mul.wide.u32 w5, x2, 4; add.s64 w6, w0, w5; add.s64 w7, w1, w5; mov.u32 x5, 0; setp.eq.u32 q1, x2, 0; @q1 bra FIRST;",
         "WAIT: ld.acquire.gpu.global.b32 x3, [w7+508]; setp.ne.u32 q2, x3, 1; @q2 bra WAIT;",
         "ld.global.b32 x5, [w6+-4];",
         "FIRST: add.u32 x5, x5, 1; st.global.b32 [w6], x5;",
         "st.release.gpu.global.b32 [w7+512], 1;", "END:"]  # fmt: skip


def test_a_chain_of_flags():
    out = expect_clean(CHAIN, grid=5, uninitialised_output=False)
    assert out[:5].tolist() == [1, 2, 3, 4, 5]
    expect(changed(CHAIN, 5, "release", "relaxed"), "race", 3, ["another CTA writes"], grid=5, uninitialised_output=False)


def test_knowledge_is_handed_on():
    """CTA 4 waits for CTA 3 alone, and may read what CTA 0 wrote."""
    first = changed(CHAIN, 3, "[w6+-4]", "[w0]")
    expect_clean(first, grid=5, uninitialised_output=False)
    both = changed(changed(CHAIN, 3, "[w6+-4]", "[w0]"), 5, "release", "relaxed")
    expect(both, "race", 3, ["another CTA writes"], grid=5, uninitialised_output=False)


LOCK = ["@!q0 bra END;",
        "LOCK: atom.acquire.gpu.global.cas.b32 x1, [w0], 0, 1; setp.ne.u32 q2, x1, 0; @q2 bra LOCK;",
        "ld.global.b32 x2, [w1]; add.u32 x2, x2, 1; st.global.b32 [w1], x2;",
        "st.release.gpu.global.b32 [w0], 0;", "END:"]  # fmt: skip


def test_a_lock():
    expect_clean(LOCK, grid=20, uninitialised_output=False)
    expect(changed(LOCK, 4, "release", "relaxed"), "race", 3, UNORDERED[1:], grid=20, uninitialised_output=False)


def test_a_later_writer_must_know_of_the_readers():
    """CTA 1 overwrites what CTA 0 read, after CTA 0 has said so, or without its having said it."""
    lines = ["@!q0 bra END; mov.u32 x2, %ctaid.x; setp.eq.u32 q1, x2, 1; @q1 bra WAIT;",
             "ld.global.b32 x3, [w1]; st.global.b32 [w3], x3; st.release.gpu.global.b32 [w1+8], 7; bra END;",
             "WAIT: ld.relaxed.gpu.global.b32 x4, [w1+8]; setp.ne.u32 q2, x4, 7; @q2 bra WAIT; fence.acq_rel.gpu;",
             "st.global.b32 [w1], 9;", "END:"]  # fmt: skip
    expect_clean(lines, grid=2, uninitialised_output=False)
    early = changed(lines, 2, "ld.global.b32 x3, [w1]; st.global.b32 [w3], x3; st.release.gpu.global.b32 [w1+8], 7;",
                    "st.release.gpu.global.b32 [w1+8], 7; ld.global.b32 x3, [w1]; st.global.b32 [w3], x3;")  # fmt: skip
    expect(early, "race", 4, ["changes in + 0 bytes", "another CTA reads"], grid=2, uninitialised_output=False)


@pytest.mark.parametrize(("limit", "value"), [("_MOST_UNITS", 2), ("_MOST_KNOWN", 2)])
def test_what_is_too_large_to_follow_is_left_alone(monkeypatch, limit, value):
    monkeypatch.setattr(global_order, limit, value)
    expect_clean(without(LAST, 2), grid=3)


def test_many_releases_are_told_apart_up_to_a_limit(monkeypatch):
    """Thread 0 releases in a loop; what it writes behind the last release stays uncovered all the same."""
    monkeypatch.setattr(global_order, "_MOST_RELEASES", 4)
    loop = "mov.u32 x8, 0; AGAIN: fence.acq_rel.gpu; add.u32 x8, x8, 1; setp.lt.u32 q3, x8, 9; @q3 bra AGAIN;"
    expect_clean(changed(LAST, 3, "@q0 fence.acq_rel.gpu;", loop), grid=3)
    late = changed(changed(LAST, 3, "@q0 fence.acq_rel.gpu;", loop), 5, "bar.sync 0;", "st.global.b32 [w3], 1; bar.sync 0;")
    expect(late, "race", 8, UNORDERED, grid=3)


def test_the_values_are_those_of_the_chain_in_either_order_of_the_ctas():
    assert (expect_clean(LAST, grid=2, turned=True) == np.arange(2 * THREADS)).all()
