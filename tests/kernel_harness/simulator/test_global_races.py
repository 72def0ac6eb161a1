# ruff: noqa: E501  PTX reads better unbroken
"""Races over global memory: between the threads of one CTA, and between CTAs; each next to the same kernel without it."""

import numpy as np
import pytest
from kernel_harness.simulator import global_races, memory
from kernel_harness.simulator.tensor_copies import TensorMap
from one_kernel import THREADS, expect, expect_clean, run, without

pytestmark = pytest.mark.cpu

REVERSED = "xor.b32 x12, t, 127; mul.wide.u32 w5, x12, 4; add.s64 w5, w0, w5;"  # w5: the word of thread 127 - t in out
SCRATCH = ["st.global.b32 [w3], t;", "bar.sync 0;", REVERSED, "ld.global.b32 x1, [w5];", "bar.sync 0;", "st.global.b32 [w3], x1;"]


def test_a_scratch_buffer_with_barriers_is_clean():
    assert (expect_clean(SCRATCH) == np.arange(THREADS)[::-1]).all()


def test_scratch_that_is_read_too_early():
    report = expect(without(SCRATCH, 2), "race", 4, ["reads out + 508 bytes without being ordered after the write by thread (127, 0, 0)",
                                                     "CTA (0, 0, 0) thread (0, 0, 0)"])  # fmt: skip
    assert report.findings[0].count == THREADS
    assert report.findings[0].address % 4096 == 508


def test_scratch_that_is_overwritten_too_early():
    expect(without(SCRATCH, 5), "race", 6, ["changes out + 0 bytes without being ordered after the read by thread (127, 0, 0)"])


SHIFT = ["setp.ne.u32 q1, t, 127; @q1 ld.global.b32 x1, [w4+4];", "bar.sync 0;", "@q1 st.global.b32 [w4], x1;"]


def test_an_in_place_shift_needs_a_barrier():
    expect_clean(SHIFT, uninitialised_output=False)
    expect(without(SHIFT, 2), "race", 3, ["changes in + 4 bytes", "after the read by thread (0, 0, 0)"])


# Threads 64 on hold copies of the first 64's words, as in a Triton block of fewer elements than threads.
REPLICATED = ["and.b32 x12, t, 63; mul.wide.u32 w5, x12, 4; add.s64 w5, w1, w5; ld.global.b32 x1, [w5]; add.u32 x1, x1, 7;",
              "setp.lt.u32 q1, t, 64; @q1 st.global.b32 [w5], x1; @q1 st.global.b32 [w3], x1;"]


@pytest.mark.parametrize("tells", ["", "st.shared.b32 [x11], x1;", "bar.sync 0;", "shfl.sync.bfly.b32 x2, x1, 1, 31, -1;"])
@pytest.mark.parametrize("words", [64, 16])
def test_a_read_whose_value_reaches_nobody_is_no_race(words, tells):
    """The launch runs again, on the memory as it was: 7 is added once."""
    lines = [line.replace("t, 63", f"t, {words - 1}").replace("t, 64", f"t, {words}") for line in REPLICATED]
    out = expect_clean([*lines, tells], uninitialised_output=False)
    assert (out[:words] == np.arange(words) + 7).all()


@pytest.mark.parametrize("tells", ["st.global.b32 [w3], x1;", "min.s32 x2, x1, 1; st.global.b32 [w3], x2;", "max.s32 x2, x1, 999; st.global.b32 [w3], x2;",
                                   "setp.ne.u32 q3, x1, 7; selp.u32 x2, 1, 0, q3; st.global.b32 [w3], x2;",
                                   "st.shared.b32 [x10], x1; ld.shared.b32 x2, [x10]; st.global.b32 [w3], x2;"])  # fmt: skip
def test_a_read_whose_value_reaches_somebody_races(tells):
    """Of the last thread alone: its value, the smaller or larger of it and a constant, whether it is zero."""
    expect([*REPLICATED, f"setp.ne.u32 q2, t, 127; @q2 bra END; {tells} END:"], "race", 2, ["changes in + ", "after the read by"], uninitialised_output=False)


def test_a_race_leaves_the_memory_of_the_first_run():
    _, out = run([*REPLICATED, "setp.ne.u32 q2, t, 127; @q2 bra END; st.global.b32 [w3], x1; END:"], uninitialised_output=False)
    assert (out[127], out[63]) == (70, 70)


def test_another_ctas_words_may_be_loaded_and_left():
    """Both CTAs load all words and keep their own; then one of another's is kept."""
    lines = ["xor.b32 x12, i, 128; mul.wide.u32 w5, x12, 4; add.s64 w5, w1, w5; ld.global.b32 x2, [w5]; ld.global.b32 x1, [w4];",
             "add.u32 x1, x1, 7; st.global.b32 [w4], x1; st.global.b32 [w3], x1;"]  # fmt: skip
    assert (expect_clean(lines, grid=2) == np.arange(2 * THREADS) + 7).all()
    expect([lines[0], lines[1].replace("x1, x1, 7", "x1, x1, x2")], "race", 2, ["another CTA reads"], grid=2)


# Two warps load 32 words each; the first stores the former half of them, the other the latter, from what other lanes hold.
HALVES = ["shr.u32 x15, t, 5; and.b32 x12, t, 31; mul.wide.u32 w5, x12, 4; add.s64 w5, w1, w5; ld.global.b32 x1, [w5]; add.u32 x1, x1, 7;",
          "and.b32 x13, t, 15; xor.b32 x13, x13, 15; mad.lo.u32 x13, x15, 16, x13; and.b32 x13, x13, 31; shfl.sync.idx.b32 x3, {passed}, x13, 31, -1;",
          "mul.wide.u32 w6, x13, 4; add.s64 w6, w1, w6; setp.lt.u32 q1, x12, 16; setp.lt.u32 q2, t, 64; and.pred q1, q1, q2; @q1 st.global.b32 [w6], {stored};"]  # fmt: skip


def test_a_warp_may_keep_half_of_what_it_loads():
    lines = lambda passed, stored: [line.format(passed=passed, stored=stored) for line in HALVES]
    run_in_place = [*lines("x1", "x3"), "bar.sync 0; ld.global.b32 x4, [w4]; st.global.b32 [w3], x4;"]
    assert (expect_clean(run_in_place, uninitialised_output=False)[:32] == np.arange(32) + 7).all()
    expect(lines("t", "x1"), "race", 3, ["changes in + ", "after the read by"], uninitialised_output=False)


def test_copies_of_a_read_do_not_hide_that_of_another_thread():
    """Each word is read by its neighbour as well, in the same place in the program as by those that hold copies."""
    lines = [REPLICATED[0].replace("and.b32 x12, t, 63", "add.u32 x12, t, 1; and.b32 x12, x12, 63"), REPLICATED[1].replace("[w5]", "[w4]")]
    expect(lines, "race", 2, ["changes in + "], uninitialised_output=False)


def test_the_writer_of_a_word_that_two_warps_read_may_be_either():
    """Threads 0 and 32 read a word of their own warp and of the other; the later reader is the one that writes."""
    lines = ["and.b32 x12, t, 31; setp.eq.u32 q1, x12, 0; ld.global.b32 x1, [w1];", "bar.sync 0;",
             "setp.eq.u32 q2, t, {writer}; @q2 st.global.b32 [w1], 9;", "st.global.b32 [w3], x1;"]  # fmt: skip
    for writer in (0, 33, 127):
        mine = [*lines[:2], lines[2].format(writer=writer), lines[3]]
        expect_clean(mine)
        expect(without(mine, 2), "race", 3, ["changes in + 0 bytes", "after the read"])


def test_the_threads_of_a_warp_need_a_warp_barrier():
    lines = ["st.global.b32 [w3], t;", "bar.warp.sync -1;", REVERSED.replace("127", "1"), "ld.global.b32 x1, [w5]; st.global.b32 [w4], x1;"]
    expect_clean(lines)
    expect(without(lines, 2), "race", 4, ["by thread (1, 0, 0)"])


# Lanes swap the words of their neighbours in place.
SWAP = ["xor.b32 x12, t, 1; mul.wide.u32 w5, x12, 4; add.s64 w5, w1, w5; ld.global.b32 x1, [w5]; add.u32 x2, x1, 1;",
        "shfl.sync.bfly.b32 x3, {passed}, 2, 31, -1;", "add.u32 x3, x3, x1; st.global.b32 [w4], x3;"]  # fmt: skip


def test_a_shuffle_of_what_was_read_ends_the_reads():
    passing = lambda register: [line.replace("{passed}", register) for line in SWAP]
    expect_clean(passing("x2"), uninitialised_output=False)
    for register in ("x12", "t"):  # x1 may be loaded after it
        expect(passing(register), "race", 3, ["changes in + ", "after the read by"], uninitialised_output=False)
    expect(without(passing("x2"), 2), "race", 3, ["changes in + "], uninitialised_output=False)


def test_a_shuffle_hands_no_writes_over():
    lines = ["ld.global.b32 x1, [w4]; st.global.b32 [w3], x1;", "shfl.sync.bfly.b32 x2, x1, 1, 31, -1;",
             REVERSED.replace("127", "1"), "ld.global.b32 x1, [w5];", "st.global.b32 [w4], x1;"]  # fmt: skip
    expect(lines, "race", 4, ["after the write by thread (1, 0, 0)"])


def test_a_barrier_of_other_warps_orders_nothing():
    """The warps of 64 threads each meet at a barrier of their own; the reader's word is of the other half."""
    lines = ["st.global.b32 [w3], t; shr.u32 x13, t, 6;", "bar.sync x13, 64;", REVERSED, "ld.global.b32 x1, [w5]; st.global.b32 [w4], x1;"]
    expect(lines, "race", 4, ["by thread (127, 0, 0)"])
    expect_clean([*lines[:2], REVERSED.replace("127", "63"), lines[3]])


def test_an_mbarrier_orders():
    lines = ["@q0 mbarrier.init.shared::cta.b64 [x10+2048], 128;", "bar.sync 0;", "st.global.b32 [w3], t;", "mbarrier.arrive.shared::cta.b64 w9, [x10+2048];",
             "WAIT: mbarrier.try_wait.parity.shared::cta.b64 q7, [x10+2048], 0; @!q7 bra WAIT;", REVERSED, "ld.global.b32 x1, [w5]; st.global.b32 [w4], x1;"]  # fmt: skip
    expect_clean(lines)
    expect(without(lines, 5), "race", 7)


def test_atomics_do_not_conflict_with_each_other():
    lines = ["red.global.add.u32 [w1], t;", "atom.global.add.u32 x1, [w1], 1;", "bar.sync 0;", "ld.global.b32 x1, [w1];", "st.global.b32 [w3], x1;"]
    assert (expect_clean(lines) == sum(range(THREADS)) + THREADS).all()
    expect(without(lines, 3), "race", 4, ["reads in + 0 bytes", "after the write"])


def test_a_counter_that_is_cleared_beside_its_use():
    lines = ["@q0 st.global.b32 [w0], 5;", "bar.sync 0;", "red.global.add.u32 [w0], 1;"]
    expect_clean(lines)
    expect(without(lines, 2), "race", 3, ["reads out + 0 bytes"])


def test_one_value_of_several_threads_is_no_race_and_several_are():
    expect_clean(["st.global.b32 [w1], 7;"])
    expect(["st.global.b32 [w1], t;"], "race", 1, ["changes in + 0 bytes"])
    lines = ["setp.lt.u32 q1, t, 64; @q1 st.global.b32 [w1], 7;", "bar.sync 0;", "@!q1 st.global.b32 [w1], 8;"]
    expect_clean(lines)
    expect(without(lines, 2), "race", 3, ["after the write by thread (63, 0, 0)"])
    expect_clean([lines[0], "", lines[2].replace("8", "7")])


def test_a_lock_orders_the_warps_of_a_cta():
    """Thread 0 of each warp takes turns: acquire and release on a word of global memory order what is between."""
    lock = ["and.b32 x12, t, 31; setp.ne.u32 q1, x12, 0; @q1 bra END;",
            "LOCK: atom.acquire.gpu.global.cas.b32 x1, [w0], 0, 1; setp.ne.u32 q2, x1, 0; @q2 bra LOCK;",
            "ld.global.b32 x2, [w1]; add.u32 x2, x2, 1; st.global.b32 [w1], x2;", "st.release.gpu.global.b32 [w0], 0;", "END:"]  # fmt: skip
    expect_clean(lock, uninitialised_output=False)
    relaxed = [*lock[:3], lock[3].replace("release", "relaxed"), *lock[4:]]
    expect(relaxed, "race", 3, ["after the write by thread (0, 0, 0)"], uninitialised_output=False)


@pytest.mark.parametrize("scope", ["gpu", "cta"])
def test_a_fence_beside_atomics_orders_no_threads_by_itself(scope):
    """That of a CTA is left alone: what it orders is not followed."""
    lines = [SCRATCH[0], f"red.global.add.u32 [w1], 1; fence.acq_rel.{scope};", *SCRATCH[1:]]
    expect_clean(lines, uninitialised_output=False)
    if scope == "gpu":
        expect(without(lines, 3), "race", 5, ["after the write by thread (127, 0, 0)"], uninitialised_output=False)
    else:
        expect_clean(without(lines, 3), uninitialised_output=False)


def test_copies_into_shared_memory_read_global_memory():
    lines = ["st.global.b32 [w3], t;", "bar.sync 0;", REVERSED, "cp.async.ca.shared.global [x11], [w5], 4;", "cp.async.wait_all; ld.shared.b32 x1, [x11]; st.global.b32 [w4], x1;"]
    expect_clean(lines)
    expect(without(lines, 2), "race", 4, ["reads out + 508 bytes"])


@pytest.mark.parametrize("log", [global_races._LOG, 100])
def test_ctas_of_several_waves_work_in_place(monkeypatch, log):
    """Two loads of everything before the first store: listed, or, past the limit, in the tables from the beginning."""
    monkeypatch.setattr(global_races, "_LOG", log)
    lines = ["ld.global.b32 x1, [w4];", "xor.b32 x12, i, 64; mul.wide.u32 w5, x12, 4; add.s64 w5, w1, w5; ld.global.b32 x2, [w5];",
             "bar.sync 0;", "add.u32 x1, x1, x2; st.global.b32 [w4], x1; st.global.b32 [w3], x1;"]  # fmt: skip
    number = np.arange(THREADS * 40)
    assert (expect_clean(lines, grid=40) == number + (number ^ 64)).all()
    expect(without(lines, 3), "race", 4, ["after the read by thread (64, 0, 0) of CTA (0, 0, 0)"], grid=40)


def test_what_several_ctas_read_at_once_none_of_them_may_change():
    """The CTA that writes is the one whose read was recorded last."""
    lines = ["ld.global.b32 x1, [w1]; st.global.b32 [w3], x1;", "bar.sync 0; mov.u32 x2, %ctaid.x; setp.eq.u32 q1, x2, 1; and.pred q1, q1, q0;", "@q1 st.global.b32 [w1], 9;"]
    expect(lines, "race", 3, ["another CTA reads"], grid=2)
    expect_clean(lines, grid=1)


# Each CTA leaves its number in out and counts itself in, at [w1+496]; the last of the two reads both, and resets the count.
LAST_CTA = ["mov.u32 x2, %ctaid.x; mul.wide.u32 w5, x2, 4; add.s64 w5, w0, w5; @q0 st.global.b32 [w5], x2;",
            "fence.acq_rel.gpu;",
            "@q0 atom.relaxed.gpu.global.add.u32 x3, [w1+496], 1; sub.u32 x3, x3, 124; setp.eq.u32 q1, x3, 1; and.pred q1, q1, q0;",
            "@q1 ld.global.b32 x4, [w0]; @q1 ld.global.b32 x5, [w0+4]; add.u32 x4, x4, x5;",
            "@q1 st.global.b32 [w1+496], x4;"]


def test_a_relaxed_counter_orders_no_data():
    expect_clean(LAST_CTA, grid=2, uninitialised_output=False)
    expect(without(LAST_CTA, 2), "race", 4, ["reads out + 0 bytes", "another CTA writes"], grid=2, uninitialised_output=False)


def test_a_relaxed_counter_may_be_looked_at_and_reset():
    expect_clean([*LAST_CTA[:1], *LAST_CTA[2:3], "ld.global.b32 x4, [w1+496];", "@q1 st.global.b32 [w1+496], 0;"], grid=2, uninitialised_output=False)


def test_bulk_copies_race_with_other_ctas():
    """CTA 0 stores from shared memory in bulk what CTA 1 fetches in bulk."""
    start = "mov.u32 x2, %ctaid.x; setp.eq.u32 q1, x2, 0; setp.eq.u32 q2, x2, 1; and.pred q1, q1, q0; and.pred q2, q2, q0;"
    lines = [f"{start} st.shared.b32 [x11], t; fence.proxy.async.shared::cta; @q0 mbarrier.init.shared::cta.b64 [x10+2048], 1; bar.sync 0;",
             "@q1 cp.async.bulk.global.shared::cta.bulk_group [w1], [x10], 512; @q1 cp.async.bulk.commit_group; @q1 cp.async.bulk.wait_group 0;",
             "@q2 mbarrier.arrive.expect_tx.shared::cta.b64 w9, [x10+2048], 512;",
             "@q2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [x10+1024], [w1], 512, [x10+2048];"]  # fmt: skip
    changed = [lines[0].replace("], t;", "], n;"), *lines[1:]]
    expect(changed, "race", 4, ["another CTA writes"], grid=2, cluster=1)
    report, _ = run([*changed[:3], changed[3].replace("[w1]", "[w1+512]")], grid=2)
    assert report.clean


@pytest.mark.parametrize("fence", ["", "fence.acq_rel.gpu;"])
def test_reducing_bulk_copies_of_several_ctas_commute(fence):
    make = lambda out, source: TensorMap(source, 2, (32, 4), (128,), (32, 4)).encode()
    lines = ["st.shared.b32 [x11], t; fence.proxy.async.shared::cta; bar.sync 0; mov.u64 w5, m0; cvta.param.u64 w5, w5;",
             "@q0 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [w5, {0, 0}], [x10];",
             f"@q0 cp.async.bulk.commit_group; @q0 cp.async.bulk.wait_group 0; {fence}"]  # fmt: skip
    report, _ = run(lines, grid=3, params=[make], uninitialised_output=False)
    assert report.clean, str(report.findings[0])


def test_what_is_too_large_to_keep_is_run_once(monkeypatch):
    monkeypatch.setattr(memory, "SNAPSHOT_BYTES", 100)
    expect(REPLICATED, "race", 2, ["changes in + "], uninitialised_output=False)
