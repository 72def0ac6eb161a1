# ruff: noqa: E501  PTX reads better unbroken
"""Each defect that the simulator claims to find, planted in a small kernel, next to the same kernel without it."""

import numpy as np
import pytest
from kernel_harness.simulator import Profile, SimulationError, UnsupportedInstruction, machine, tensor_copies
from kernel_harness.simulator.tensor_copies import TensorMap
from one_kernel import THREADS, expect, expect_clean, run, without

pytestmark = pytest.mark.cpu

# Memory ----------------------------------------------------------------------------------------------------------

COPY = ["ld.global.b32 x1, [w4];", "st.global.b32 [w3], x1;"]


def test_copy_is_clean():
    assert (expect_clean(COPY) == np.arange(THREADS)).all()


@pytest.mark.parametrize("combine", ["add.f32", "max.f32", "min.f32", "add.u32"])
def test_an_accumulator_that_nobody_sets_does_not_start_at_zero(combine):
    """Registers hold what was left in them: zeros would make such a kernel right, here alone."""
    from_zero = ["mov.b32 x2, 0;", f"{combine} x2, x2, 0f00000000;" if "f32" in combine else f"{combine} x2, x2, 0;"]
    store = "st.global.b32 [w3], x2;"
    assert (expect_clean([*from_zero, store]) == 0).all()
    assert (expect_clean([from_zero[1], store]) != 0).any()


def test_read_past_the_tail():
    lines = ["ld.global.b32 x1, [w4+4];", "st.global.b32 [w3], x1;"]
    report = expect(lines, "out-of-bounds", 1, ["thread (127, 0, 0)", "0 bytes past the end of in (512 bytes)"])
    assert report.findings[0].count == 1


def test_write_before_the_start():
    expect([COPY[0], "st.global.b32 [w3+-4], x1;"], "out-of-bounds", 2, ["thread (0, 0, 0)", "4 bytes before out"])


def test_shared_memory_overrun():
    expect(["add.u32 x12, x11, 3600;", "st.shared.b32 [x12], t;"], "out-of-bounds", 2, ["4096", "thread (124, 0, 0)"])


# Each thread reads the words of its sixteen bytes but the last, in which thread t ^ 1 leaves something meanwhile.
WIDENED = [
    "shl.b32 x12, t, 4; add.u32 x12, x10, x12; xor.b32 x13, x12, 16;",
    "st.shared.v2.b32 [x12], {t, t}; st.shared.b32 [x12+8], t;",
    "ld.shared.v4.b32 {x1, x2, x3, x4}, [x12];",
    "st.shared.b32 [x13+12], t;",
    "add.u32 x1, x1, x2; add.u32 x1, x1, x3; st.global.b32 [w3], x1;",
]


def test_an_element_of_a_vector_load_that_nobody_uses_is_not_read():
    """The compiler widens three neighbouring loads to one of four."""
    assert (expect_clean(WIDENED) == 3 * np.arange(THREADS)).all()


def test_an_element_that_somebody_uses_is():
    expect([*WIDENED[:4], WIDENED[4].replace("x1, x1, x3", "x1, x1, x4")], "race", 4)


def test_unused_elements_past_the_end_are_not_read():
    lines = ["ld.global.v4.b32 {x1, x2, x3, x4}, [w1];", WIDENED[4]]
    assert expect_clean(lines, threads=1, source_words=3) == [3]
    lines[1] = lines[1].replace("x1, x1, x3", "x1, x1, x4")
    expect(lines, "out-of-bounds", 1, ["past the end of in"], threads=1, source_words=3)


def test_misaligned_vector_load():
    expect(["ld.global.v2.b32 {x1, x2}, [w1+4];", "st.global.b32 [w3], x1;"], "misaligned", 1, ["multiple of 8"])


def test_uninitialised_shared_memory():
    expect(
        ["ld.shared.b32 x1, [x11];", "add.u32 x1, x1, 1;", "st.global.b32 [w3], x1;"],
        "uninitialised-read",
        1,
        ["line 3"],
    )


def test_unused_uninitialised_value_is_clean():
    expect_clean(
        ["ld.shared.b32 x1, [x11];", "setp.eq.u32 q1, x10, 0;", "selp.b32 x1, x1, t, q1;", "st.global.b32 [w3], x1;"]
    )


def test_uninitialised_global_memory():
    expect(["ld.global.b32 x1, [w3];", "setp.eq.u32 q1, x1, 5;", "@q1 add.u32 x1, x1, 1;"], "uninitialised-read", 1)


# Races -----------------------------------------------------------------------------------------------------------

EXCHANGE = ["st.shared.b32 [x11], t;", "bar.sync 0;", "xor.b32 x12, t, 127; shl.b32 x12, x12, 2; add.u32 x12, x10, x12;",
            "ld.shared.b32 x1, [x12];", "st.global.b32 [w3], x1;"]  # fmt: skip


def test_exchange_is_clean():
    assert (expect_clean(EXCHANGE) == np.arange(THREADS)[::-1]).all()


def test_missing_barrier_before_the_read():
    expect(without(EXCHANGE, 2), "race", 4, ["reads shared memory", "ordered after the write"])


def test_missing_barrier_before_the_next_write():
    again = [*EXCHANGE[:4], "bar.sync 0;", "st.shared.b32 [x11], x1;"]
    expect_clean(again)
    expect(without(again, 5), "race", 6, ["after the read"])


def test_missing_warp_barrier():
    lines = [
        "st.shared.b32 [x11], t;",
        "bar.warp.sync -1;",
        "xor.b32 x12, t, 1; shl.b32 x12, x12, 2; add.u32 x12, x10, x12;",
        "ld.shared.b32 x1, [x12];",
    ]
    expect_clean(lines)
    expect(without(lines, 2), "race", 4)


def test_two_threads_write_one_address():
    expect(
        ["shr.u32 x12, t, 1; shl.b32 x12, x12, 2; add.u32 x12, x10, x12;", "st.shared.b32 [x12], t;"],
        "race",
        2,
        ["different values"],
    )


@pytest.mark.parametrize(("one", "other", "is_race"), [
    ("0x7f800000", "0x7fc00000", False),  # inf and NaN: a sum of infinities, in two orders
    ("0x3f800000", "0x3f800001", False),
    ("0x7fc00000", "0x3f800000", True),
    ("0xffffffff", "5", True),  # integers
])
def test_lanes_that_added_the_same_in_other_orders(one, other, is_race):
    lines = [
        "and.b32 x12, t, 1; setp.eq.u32 q1, x12, 0;",
        f"selp.b32 x1, {one}, {other}, q1; shr.u32 x12, t, 1; shl.b32 x12, x12, 2; add.u32 x12, x10, x12;",
        "st.shared.b32 [x12], x1;",
    ]
    if is_race:
        expect(lines, "race", 3, ["different values"])
    else:
        expect_clean(lines)


def test_two_ctas_write_one_address():
    lines = ["mul.wide.u32 w2, t, 4; add.s64 w3, w0, w2;", "st.global.b32 [w3], i;"]
    expect(lines, "race", 2, ["another CTA", "out"], grid=2)
    expect_clean([lines[0], "st.global.b32 [w3], t;"], grid=2)  # the same value


def test_reading_what_another_cta_writes():
    lines = ["st.global.b32 [w3], i;", "setp.lt.u32 q1, i, 128; @q1 bra END;", "ld.global.b32 x1, [w3+-512]; st.global.b32 [w4], x1;", "END:"]
    expect(lines, "race", 3, ["another CTA writes"], grid=2)
    expect_clean([*lines[:2], lines[2].replace("[w3+-512]", "[w3]"), "END:"], grid=2)


# Deadlocks -------------------------------------------------------------------------------------------------------


def test_barrier_that_some_threads_skip():
    lines = ["setp.lt.u32 q1, t, 64;", "@q1 bar.sync 1, 128;", "st.global.b32 [w3], t;"]
    expect(lines, "deadlock", 2, ["64 threads", "waits for 128"])


def test_shuffle_that_some_lanes_skip():
    lines = [
        "and.b32 x12, t, 31; setp.lt.u32 q1, x12, 16;",
        "@q1 bar.sync 1, 128;",
        "@!q1 shfl.sync.bfly.b32 x1, t, 1, 31, -1;",
    ]
    assert {f.kind for f in run(lines)[0].findings} == {"deadlock"}


INIT = "@q0 mbarrier.init.shared::cta.b64 [x10+2048], {count};"
WAIT = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 q7, [x10+2048], 0; @!q7 bra WAIT;"
BULK = [INIT.format(count=1), "bar.sync 0;", "@q0 mbarrier.arrive.expect_tx.shared::cta.b64 w9, [x10+2048], 512;",
        "@q0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [x10], [w1], 512, [x10+2048];",
        WAIT, "ld.shared.b32 x1, [x11];", "st.global.b32 [w3], x1;"]  # fmt: skip


def test_bulk_copy_is_clean():
    assert (expect_clean(BULK) == np.arange(THREADS)).all()


def test_wrong_arrival_count():
    expect([INIT.format(count=2), *BULK[1:]], "deadlock", 5, ["1 of 2 arrivals"])


def test_wrong_transaction_bytes():
    expect([*BULK[:2], BULK[2].replace("512", "1024"), *BULK[3:]], "deadlock", 5, ["512 bytes are missing"])


def test_missing_election():
    lines = [*BULK[:3], "setp.lt.u32 q1, t, 32; @q1 " + BULK[3].removeprefix("@q0 "), *BULK[4:]]
    kinds = {(f.kind, f.line) for f in run(lines)[0].findings}
    assert ("race", 4) in kinds
    assert ("barrier-misuse", 4) in kinds


def test_read_without_waiting_for_the_copy():
    expect(without(BULK, 5), "race", 6, ["asynchronous write"])


def test_copy_into_memory_that_is_still_read():
    lines = [*BULK[:6], "", "@q0 mbarrier.arrive.expect_tx.shared::cta.b64 w9, [x10+2048], 512;", BULK[3]]
    expect(lines, "race", 9, ["after the read"])
    lines[6] = "bar.sync 0;"
    expect_clean(lines)


def test_uninitialised_mbarrier():
    expect(without(BULK, 1), "barrier-misuse", 3, ["never initialised"])


SWAP = ["st.shared.b32 [x11], t;", "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;",
        "mov.u32 x13, %cluster_ctarank; xor.b32 x13, x13, 1; mapa.shared::cluster.u32 x12, x11, x13;",
        "ld.shared::cluster.b32 x1, [x12];", "st.global.b32 [w3], x1;",
        "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"]  # fmt: skip


def test_missing_cluster_barrier():
    assert (expect_clean(SWAP, grid=2, cluster=2) == np.tile(np.arange(THREADS), 2)).all()
    report = expect(without(SWAP, 2), "cluster-lifetime", 4, ["may not have started"], grid=2, cluster=2)
    assert ("race", 4) in {(f.kind, f.line) for f in report.findings}
    expect(without(SWAP, 6), "cluster-lifetime", 4, grid=2, cluster=2)


def test_a_cluster_barrier_that_some_threads_never_reach():
    lines = ["setp.lt.u32 q1, i, 64; @q1 bra OTHER;", SWAP[1], "OTHER: @q1 bar.sync 1, 128;"]
    report, _ = run(lines, grid=2, cluster=2)
    waits = [f for f in report.findings if "192 of 256 have arrived in phase 0" in f.message]
    assert [(f.kind, f.line) for f in waits] == [("deadlock", 2)], report.findings


# Proxies ---------------------------------------------------------------------------------------------------------

BULK_STORE = ["st.shared.b32 [x11], t;", "fence.proxy.async.shared::cta;", "bar.sync 0;",
              "@q0 cp.async.bulk.global.shared::cta.bulk_group [w0], [x10], 512;", "@q0 cp.async.bulk.commit_group;",
              "@q0 cp.async.bulk.wait_group.read 0;", "bar.sync 0;", "st.shared.b32 [x11], n;"]  # fmt: skip


def test_bulk_store_is_clean():
    assert (expect_clean(BULK_STORE) == np.arange(THREADS)).all()


def test_missing_proxy_fence():
    expect(without(BULK_STORE, 2), "missing-proxy-fence", 4, ["fence.proxy.async"])


def test_overwriting_the_source_of_a_bulk_store():
    expect(without(BULK_STORE, 6), "race", 8, ["after the read"])


CP_ASYNC = ["cp.async.ca.shared.global [x11], [w4], 4;", "cp.async.commit_group;", "cp.async.wait_group 0;", "bar.sync 0;",
            "xor.b32 x12, t, 127; shl.b32 x12, x12, 2; add.u32 x12, x10, x12;", "ld.shared.b32 x1, [x12];", "st.global.b32 [w3], x1;"]  # fmt: skip


def test_cp_async():
    assert (expect_clean(CP_ASYNC) == np.arange(THREADS)[::-1]).all()
    expect(without(CP_ASYNC, 3), "race", 6)
    expect(without(CP_ASYNC, 4), "race", 6)


def test_flag_that_nobody_sets(monkeypatch):
    monkeypatch.setattr(machine, "POLL_LIMIT", 100)
    expect(["LOOP: ld.acquire.gpu.global.b32 x1, [w0];", "setp.ne.u32 q1, x1, 7; @q1 bra LOOP;"], "deadlock", 1,
           ["nobody changes"], uninitialised_output=False)  # fmt: skip


def test_an_input_is_changed_and_put_back():
    lines = ["ld.global.b32 x1, [w4];", "st.global.b32 [w4], 7;", "st.global.b32 [w4], x1;"]
    report = expect(lines, "read-only", 2, ["writes to in", "(128 times)"], constant=True)
    assert [finding.line for finding in report.findings] == [2, 3]
    expect_clean(lines, uninitialised_output=False)
    expect_clean(lines[:1], constant=True, uninitialised_output=False)


def test_flag_that_another_cta_sets(monkeypatch):
    """CTA 0 waits for CTA 1: fine where both run together, undecided where CTA 1 has not started."""
    monkeypatch.setattr(machine, "POLL_LIMIT", 100)
    lines = ["setp.ge.u32 q1, i, 128; @q1 st.release.gpu.global.b32 [w0], 7; @q1 bra END;",
             "LOOP: ld.acquire.gpu.global.b32 x1, [w0]; setp.ne.u32 q2, x1, 7; @q2 bra LOOP;", "END:"]  # fmt: skip
    expect_clean(lines, grid=2, uninitialised_output=False)
    with pytest.raises(SimulationError, match="wave_lanes"):
        run(lines, grid=2, uninitialised_output=False, wave_lanes=128)


# Counters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stride", "sectors"), [(4, 16), (8, 32), (32, 128)])
def test_coalescing(stride, sectors):
    profile = Profile()
    lines = [f"mul.wide.u32 w2, t, {stride}; add.s64 w4, w1, w2;", "ld.global.b32 x1, [w4];"]
    run(lines, source_words=THREADS * 8, profile=profile)
    row = profile.lines["kernel.py", 2, "global", "read"]
    assert (row["requests"], row["transfers"], row["ideal"]) == (4, sectors, 16)


@pytest.mark.parametrize(("stride", "wavefronts"), [(4, 4), (8, 8), (128, 128), (0, 4)])
def test_bank_conflicts(stride, wavefronts):
    profile = Profile()
    address = f"and.b32 x12, t, 31; mul.lo.u32 x12, x12, {stride}; add.u32 x12, x10, x12;"
    run([address, "ld.shared.b32 x1, [x12];"], profile=profile)
    assert profile.lines["kernel.py", 2, "shared", "read"]["transfers"] == wavefronts


def test_cp_async_writes_shared_memory_at_its_own_line():
    profile = Profile()
    run(CP_ASYNC, profile=profile)
    written = {line: row for (_, line, space, way), row in profile.lines.items() if (space, way) == ("shared", "written")}
    assert written == {1: {"requests": 4, "bytes": 4 * THREADS, "transfers": 4, "ideal": 4}}


def shared_traffic(lines, **options):
    profile = Profile()
    run(lines, profile=profile, **options)
    return {(line, way): row["bytes"] for (_, line, space, way), row in profile.lines.items() if space == "shared"}


def test_copies_and_matrix_instructions_count_what_they_move_in_shared_memory():
    assert shared_traffic(BULK)[4, "written"] == 512
    assert shared_traffic(BULK_STORE)[4, "read"] == 512
    make = lambda out, source: TensorMap(source, 2, (32, 4), (128,), (32, 4)).encode()
    assert shared_traffic(tensor_lines(512), params=[make])[5, "written"] == 512
    assert shared_traffic(WGMMA, extra=WGMMA_EXTRA)[5, "read"] == (64 + 8) * 16 * 2


# Tensor copies and WGMMA -----------------------------------------------------------------------------------------


def tensor_lines(size):
    return ["mov.u64 w5, m0; cvta.param.u64 w5, w5;", INIT.format(count=1), "bar.sync 0;", f"@q0 mbarrier.arrive.expect_tx.shared::cta.b64 w9, [x10+2048], {size};",
            "@q0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [x10], [w5, {0, 0}], [x10+2048];",
            WAIT, "ld.shared.b32 x1, [x11];", "st.global.b32 [w3], x1;"]  # fmt: skip


@pytest.mark.parametrize("swizzle", [0, 128])
def test_tensor_copy_swizzle(swizzle):
    """A kernel that reads rows linearly sees the tensor only without a swizzle."""
    make = lambda out, source: TensorMap(source, 2, (32, 4), (128,), (32, 4), swizzle).encode()
    out = expect_clean(tensor_lines(512), params=[make])
    assert (out == np.arange(THREADS)).all() == (swizzle == 0)
    assert sorted(out) == list(range(THREADS))


@pytest.mark.parametrize(("row_bytes", "sectors"), [(128, 16), (16, 4)])
def test_a_tensor_copy_counts_the_sectors_of_its_box_and_not_its_map(row_bytes, sectors):
    """Four rows, of a tensor whose rows are 128 bytes: of narrow boxes half of each sector is wasted."""
    profile = Profile()
    make = lambda out, source: TensorMap(source, 2, (row_bytes // 4, 4), (128,), (row_bytes // 4, 4)).encode()
    run([*tensor_lines(4 * row_bytes)[:5], WAIT], params=[make], profile=profile, uninitialised_output=False)
    rows = {line: row for (_, line, space, way), row in profile.lines.items() if (space, way) == ("global", "read")}

    assert rows == {5: {"requests": 1, "bytes": 4 * row_bytes, "transfers": sectors, "ideal": row_bytes // 8}}


def test_tensor_copy_of_a_tensor_that_is_larger_than_its_memory():
    make = lambda out, source: TensorMap(source, 2, (32, 5), (128,), (32, 5)).encode()
    expect(tensor_lines(640), "out-of-bounds", 5, ["in (512 bytes)"], params=[make])


_TENSOR_STORE = (
    "mov.u64 w5, m0; cvta.param.u64 w5, w5; fence.proxy.async.shared::cta; bar.sync 0; "
    "@q0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [w5, {0, 0}], [x10]; "
    "@q0 cp.async.bulk.commit_group; @q0 cp.async.bulk.wait_group 0;"
)


@pytest.mark.parametrize(("words", "on_out", "lines", "options"), [
    (["508 bytes"], False, tensor_lines(512), {"source_words": 127}),
    (["reads 58 elements of out that nobody wrote"], True,
     ["setp.lt.u32 q1, t, 99; @q1 st.global.b32 [w3], t; bar.sync 0;", *tensor_lines(512)], {}),
    (["reads out + 20 bytes, which another CTA writes", "(2 times)"], True,
     ["setp.eq.u32 q1, t, 5; @q1 st.global.b32 [w3], t; bar.sync 0;", *tensor_lines(512)],
     {"grid": 2, "uninitialised_output": False}),
    (["changes out + 20 bytes, which another CTA writes"], True,
     ["mov.u32 x2, %ctaid.x; setp.eq.u32 q1, t, 5; selp.b32 x2, x2, 0, q1; add.u32 x1, x2, t; st.shared.b32 [x11], x1;",
      _TENSOR_STORE], {"grid": 2}),
    (["reads 58 elements of shared memory that nobody wrote"], True,
     ["setp.lt.u32 q1, t, 99; @q1 st.shared.b32 [x11], t;", _TENSOR_STORE], {}),
])  # fmt: skip
def test_findings_of_tensor_copies_count_elements(monkeypatch, words, on_out, lines, options):
    """Boxes are copied in pieces of 16 bytes: what goes wrong within one is told as if they went by elements."""
    make = lambda out, source: TensorMap(out if on_out else source, 1, (64, 4), (128,), (64, 4)).encode()
    assert tensor_copies._piece_bytes(TensorMap.decode(make(0, 0)), (0, 0), 0) == 16
    report, out = run(lines, params=[make], **options)
    monkeypatch.setattr(tensor_copies, "_piece_bytes", lambda tensor_map, *_: tensor_map.element_bytes)
    by_element, out_by_element = run(lines, params=[make], **options)
    assert report.findings == by_element.findings
    assert report.counters == by_element.counters
    assert (out == out_by_element).all()
    assert any(all(word in str(finding) for word in words) for finding in report.findings), report.findings


def test_a_tensor_copy_into_a_constant_tensor():
    make = lambda out, source: TensorMap(source, 1, (64, 4), (128,), (64, 4)).encode()
    lines = ["st.shared.b32 [x11], t;", _TENSOR_STORE]
    expect(lines, "read-only", 2, ["writes to in"], constant=True, params=[make])
    expect_clean(lines, params=[make], uninitialised_output=False)


# Each CTA writes its own number at its place, and then at the places of CTAs that it cancels.
CANCEL = [
    "mov.u32 x12, %ctaid.x; mov.u32 x13, 0; mov.u32 x14, %ctaid.x; " + INIT.format(count=1) + " bar.sync 0;",
    "AGAIN: mad.lo.u32 x15, x12, n, t; mul.wide.u32 w5, x15, 4; add.s64 w5, w0, w5; st.global.b32 [w5], x14;",
    "bar.sync 0;",
    "@q0 mbarrier.arrive.expect_tx.shared::cta.b64 w9, [x10+2048], 16;",
    "@q0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [x10], [x10+2048];",
    WAIT.replace(", 0;", ", x13;"),
    "ld.shared.v2.b64 {w6, w7}, [x10]; mov.b128 response, {w6, w7}; xor.b32 x13, x13, 1;",
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 q1, response;",
    "@q1 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {x12, x16, x17, _}, response;",
    "@q1 bra AGAIN;",
]


def test_running_ctas_take_over_those_that_have_not_started():
    out = expect_clean(CANCEL, grid=6, threads=64, extra=".reg .b128 response;").reshape(6, 64)
    assert out[:2].tolist() == [[0] * 64, [1] * 64]
    assert (out[2:] < 2).all()
    expect(without(CANCEL, 3), "race", 5, grid=6, threads=64, extra=".reg .b128 response;")


WGMMA = ["mov.b32 a0, 0; mov.b32 a1, 0; mov.b32 a2, 0; mov.b32 a3, 0;", "st.shared.v4.b32 [x12], {a0, a1, a2, a3}; st.shared.v4.b32 [x12+2048], {a0, a1, a2, a3};",
         "fence.proxy.async.shared::cta; bar.sync 0;", "wgmma.fence.sync.aligned; setp.ne.u32 q1, n, 0;",
         "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {a0, a1, a2, a3}, w6, w6, q1, 1, 1, 0, 0;",
         "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;", "st.global.b32 [w3], a0;"]  # fmt: skip
WGMMA_EXTRA = ".reg .b32 a<4>; shl.b32 x12, t, 4; add.u32 x12, x10, x12; shr.u32 x13, x10, 4; cvt.u64.u32 w6, x13; or.b64 w6, w6, 68727865344;"


def test_accumulator_read_before_wait():
    expect_clean(WGMMA, extra=WGMMA_EXTRA)
    expect(without(WGMMA, 7), "accumulator-read-before-wait", 8, extra=WGMMA_EXTRA)


def test_wgmma_reads_what_was_not_fenced():
    lines = [" ".join(WGMMA[:2]), "bar.sync 0;", " ".join(WGMMA[3:5])]
    expect(lines, "missing-proxy-fence", 3, extra=WGMMA_EXTRA)
    expect_clean([lines[0], WGMMA[2], lines[2]], extra=WGMMA_EXTRA)


# The limits of the simulator -------------------------------------------------------------------------------------


def test_unsupported_instruction_is_named():
    with pytest.raises(UnsupportedInstruction, match="suld"):
        run(["suld.b.1d.b32.trap x1, [w0, {x1}];"])
    with pytest.raises(UnsupportedInstruction, match="vadd"):
        run(["vadd.u32.u32.u32 x1, x2, x3;"])


def test_unreached_instruction_does_not_stop_the_run():
    expect_clean(
        ["setp.eq.u32 q1, n, 0; @q1 bra NEVER;", "bra END;", "NEVER: suld.b.1d.b32.trap x1, [w0, {x1}];", "END:"]
    )


def test_trap_is_reported():
    expect(["setp.eq.u32 q1, t, 3;", "@q1 trap;"], "trap", 2, ["thread (3, 0, 0)"])
