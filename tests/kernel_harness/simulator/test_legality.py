# ruff: noqa: E501  PTX reads better unbroken
"""What the driver or the hardware refuses, planted in a small kernel, next to the same kernel that is legal."""

import numpy as np
import pytest
from kernel_harness.simulator import Memory, legality, simulate
from kernel_harness.simulator.legality import LaunchOptions
from kernel_harness.simulator.tensor_copies import TensorMap
from lane_corpus import HEADER
from one_kernel import expect, expect_clean, run, without
from test_planted_bugs import BULK, tensor_lines

pytestmark = pytest.mark.cpu
KEEP = ["st.global.b32 [w3], t;"]


# Launches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "options"), [
    (["(1056, 1, 1)", "1024"], {"threads": 1056}),
    (["grid (3, 1, 1) is not a multiple of the cluster (2, 1, 1)"], {"grid": 3, "cluster": 2}),
    (["cluster of 16 CTAs exceeds 8"], {"grid": 16, "cluster": 16, "options": LaunchOptions(largest_cluster=8)}),
    (["236544 bytes of shared memory exceed the 232448"], {"shared": 232448}),
    (["60000 bytes of dynamic shared memory exceed the 45056"], {"shared": 60000, "options": LaunchOptions(shared_limit=0)}),
    (["200 registers for each of 384 threads"], {"threads": 384, "options": LaunchOptions(registers=200)}),
    (["compiled for blocks of (64,)"], {"directives": ".reqntid 64"}),
    (["at most 64 threads"], {"directives": ".maxntid 64"}),
    (["compiled for clusters of (4,)"], {"grid": 4, "cluster": 2, "directives": ".reqnctapercluster 4"}),
])  # fmt: skip
def test_launch_that_the_driver_refuses(words, options):
    report = expect(KEEP, "illegal-launch", 1, [*words, "("], **options)
    assert not report.counters.get("instructions")  # and it did not run


@pytest.mark.parametrize("options", [
    {"threads": 1024}, {"grid": 16, "cluster": 16}, {"shared": 232448 - 4096},
    {"shared": 60000, "options": LaunchOptions(shared_limit=60000)}, {"shared": 45056, "options": LaunchOptions(shared_limit=0)},
    {"threads": 384, "options": LaunchOptions(registers=168)}, {"directives": ".reqntid 128"}, {"directives": ".maxntid 512"},
])  # fmt: skip
def test_launch_at_the_limit(options):
    expect_clean(KEEP, **options)


def test_grid_beyond_65535_along_y():
    text = f"{HEADER}.visible .entry test()\n{{ret;\n}}\n"
    report = simulate(text, None, (1, 65536, 1), (32, 1, 1), (1, 1, 1), 0, [], Memory())
    assert [f.kind for f in report.findings] == ["illegal-launch"]


# Tensor maps and descriptors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "change"), [
    ("is not a multiple of 16", {"address": 8}),
    ("8 bytes, is not a multiple of 16", {"box": (2, 64)}),
    ("128 bytes, exceeds its swizzle of 64", {"swizzle": 64}),
    ("not within 1 and 256", {"box": (32, 257)}),
    ("not multiples of 16 bytes below 2^40", {"strides": (1 << 40,)}),
    ("not multiples of 16 bytes below 2^40", {"strides": (136,)}),
    ("not within 1 and 2^32", {"dims": (32, (1 << 32) + 1)}),
])  # fmt: skip
def test_tensor_map_that_cannot_be_encoded(word, change):
    given = {"address": 0, "element": 2, "dims": (32, 4), "strides": (128,), "box": (32, 4)}
    assert not legality.tensor_map_problems(TensorMap(**given))
    (problem,) = legality.tensor_map_problems(TensorMap(**given | change))
    assert word in problem
    assert "cuTensorMapEncodeTiled" in problem


def test_tensor_map_is_checked_where_it_is_used():
    make = lambda out, source: TensorMap(source, 2, (32, 4), (128,), (32, 4), 64).encode()
    expect(tensor_lines(512), "illegal-operand", 5, ["exceeds its swizzle of 64"], params=[make])


def test_tensor_map_in_local_memory():
    make = lambda out, source: TensorMap(source, 2, (32, 4), (128,), (32, 4)).encode()
    lines = tensor_lines(512)
    lines[0] += ".local .align 64 .b8 copy[128]; mov.u64 w6, copy; cvta.local.u64 w6, w6;" + "".join(
        f"ld.b64 w7, [w5+{8 * i}]; st.b64 [w6+{8 * i}], w7;" for i in range(16)
    )
    expect_clean(lines, params=[make])
    lines[4] = lines[4].replace("[w5,", "[w6,")
    expect(lines, "illegal-operand", 5, ["local memory"], params=[make])


def test_tensor_copy_may_start_at_any_element():
    make = lambda out, source: TensorMap(source, 2, (32, 4), (128,), (32, 4)).encode()
    lines = tensor_lines(512)
    lines[4] = lines[4].replace("{0, 0}", "{-1, 0}")
    out = expect_clean(lines, params=[make]).reshape(4, 32)
    assert (out[:, 1:] == np.arange(128).reshape(4, 32)[:, :-1]).all()
    assert (out[:, 0] == 0).all()


def test_tensor_copy_that_signals_the_other_cta_of_its_pair():
    """Both CTAs fill their own memory and signal the mbarrier of the even one, which waits for both."""
    make = lambda out, source: TensorMap(source, 2, (32, 4), (128,), (32, 4)).encode()
    lines = tensor_lines(1024)
    cluster = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
    copy = lines[4].replace("bytes [", "bytes.cta_group::2 [").replace("[x10+2048]", "[x12]")
    lines = [lines[0], lines[1], f"mov.u32 x13, %cluster_ctarank; setp.eq.u32 q1, x13, 0; and.pred q2, q0, q1; add.u32 x12, x10, 2048; mapa.shared::cluster.u32 x12, x12, 0; fence.mbarrier_init.release.cluster; {cluster}",
             lines[3].replace("@q0", "@q2"), copy, f"@!q1 bra LATER; {lines[5]} LATER: {cluster}", *lines[6:]]  # fmt: skip
    out = expect_clean(lines, params=[make], grid=2, cluster=2)
    assert (out == np.tile(np.arange(128), 2)).all()
    once = copy.replace("@q0", "mov.u16 h0, 3; @q2").replace("cta_group::2 [", "multicast::cluster.cta_group::2 [").replace("];", "], h0;")
    assert (expect_clean([*lines[:4], once, *lines[5:]], params=[make], grid=2, cluster=2) == out).all()
    lines[4] = copy.replace(".cta_group::2", "")
    expect(lines, "illegal-operand", 5, ["another CTA"], params=[make], grid=2, cluster=2)


def test_descriptor_with_unaligned_swizzle_pattern():
    for width, step in ((128, 1024), (64, 512), (32, 256)):
        assert not legality.descriptor_problem((step + 96) >> 4, width)
        assert "base offset" in legality.descriptor_problem((step + 128) >> 4, width)
    assert not legality.descriptor_problem(128 >> 4, 0)
    assert "no field" in legality.descriptor_problem(1 << 15, 128)


# Barriers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("line", "word"), [("mov.u32 x12, 16; bar.sync x12, 128;", "0 to 15"), ("bar.sync 1, 100;", "multiples of 32")])
def test_barrier_operands(line, word):
    expect([line], "illegal-operand", 1, [word])
    expect_clean(["mov.u32 x12, 15; bar.sync x12, 128;", *KEEP])


def test_barrier_that_half_a_warp_executes():
    expect(["and.b32 x12, t, 31; setp.lt.u32 q1, x12, 16;", "@q1 bar.sync 0;", "@!q1 bar.sync 0;"], "deadlock", 2, ["lanes of its warp"])


def test_mbarrier_off_its_alignment():
    lines = [line.replace("x10+2048", "x10+2052") for line in BULK]
    expect(lines, "misaligned", 1, ["multiple of 8"])


def test_mbarrier_that_is_initialised_twice():
    expect([BULK[0], *BULK], "barrier-misuse", 2, ["mbarrier.inval"])
    expect_clean([BULK[0], "@q0 mbarrier.inval.shared::cta.b64 [x10+2048];", *BULK])


def test_mbarrier_counts_too_many_bytes():
    lines = [*BULK[:2], "@q0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [x10+2048], 1048576;", *BULK[2:]]
    expect(lines, "illegal-operand", 3, ["1048576", "1048575"])


def test_mbarrier_used_before_its_initialisation_is_ordered():
    expect(without(BULK, 2), "race", 5, ["initialisation"])


def test_member_mask_without_the_thread():
    expect(["shfl.sync.bfly.b32 x1, t, 1, 31, 65535;"], "illegal-operand", 1, ["thread (16, 0, 0)", "member mask"])


# Registers -------------------------------------------------------------------------------------------------------

BOUNDS = ".reqntid 384\n.minnctapersm 1"


def moved(low, high):
    return ["setp.lt.u32 q1, t, 128; @q1 bra LOW;", f"setmaxnreg.inc.sync.aligned.u32 {high};", "bra END;",
            "LOW:", f"setmaxnreg.dec.sync.aligned.u32 {low};", "END:", *KEEP]  # fmt: skip


def test_registers_move_within_the_pool():
    expect_clean(moved(24, 240), threads=384, directives=BOUNDS)
    expect_clean(moved(24, 256), threads=384)  # without bounds the instruction is a hint


def test_more_registers_than_the_pool_gives():
    expect(moved(24, 248), "deadlock", 2, ["setmaxnreg.inc waits", "248", "168"], threads=384, directives=BOUNDS)
    options = LaunchOptions(registers=128)
    expect(moved(24, 240), "deadlock", 2, ["of the 128"], threads=384, directives=BOUNDS, options=options)


def test_register_count_off_its_range():
    expect(moved(20, 240), "illegal-operand", 5, ["multiples of 8 from 24"], threads=384, directives=BOUNDS)


def test_one_warp_alone_changes_its_registers():
    lines = ["setp.lt.u32 q1, t, 32; @!q1 bra END;", "setmaxnreg.dec.sync.aligned.u32 24;", "END:", *KEEP]
    expect(lines, "illegal-operand", 2, ["all warps of a warpgroup"], threads=384, directives=BOUNDS)


def test_warps_of_a_warpgroup_change_their_registers_at_different_places():
    """One instruction per role, with one number: NVIDIA's fmha.py for sm_100 does that."""
    lines = ["setp.lt.u32 q1, t, 256; @q1 bra END; setp.lt.u32 q1, t, 320; @q1 bra LOW;", "setmaxnreg.dec.sync.aligned.u32 24;", "bra END;",
             "LOW:", "setmaxnreg.dec.sync.aligned.u32 24;", "END:", *KEEP]  # fmt: skip
    expect_clean(lines, threads=384, directives=BOUNDS)
    lines[4] = lines[4].replace("24", "32")
    expect(lines, "illegal-operand", 2, ["all warps of a warpgroup"], threads=384, directives=BOUNDS)


def test_wgmma_of_three_warps():
    lines = ["mov.b32 a0, 0; mov.b32 a1, 0; mov.b32 a2, 0; mov.b32 a3, 0;", "st.shared.v4.b32 [x12], {a0, a1, a2, a3}; st.shared.v4.b32 [x12+2048], {a0, a1, a2, a3};",
             "fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 q1, n, 0; setp.ge.u32 q2, t, 96; @q2 bra END;",
             "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {a0, a1, a2, a3}, w6, w6, q1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;", "END:"]  # fmt: skip
    extra = ".reg .b32 a<4>; shl.b32 x12, t, 4; add.u32 x12, x10, x12; shr.u32 x13, x10, 4; cvt.u64.u32 w6, x13; or.b64 w6, w6, 68727865344;"
    expect(lines, "illegal-operand", 4, ["four warps"], extra=extra)
    expect_clean([*lines[:2], lines[2].replace("96", "128"), *lines[3:]], extra=extra)


# Clusters --------------------------------------------------------------------------------------------------------

SYNC = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"
EXCHANGE = ["st.shared.b32 [x11], t;", SYNC, "mov.u32 x13, %cluster_ctarank; xor.b32 x13, x13, 1; mapa.shared::cluster.u32 x12, x11, x13;",
            "ld.shared::cluster.b32 x1, [x12];", SYNC, "st.global.b32 [w3], x1;"]  # fmt: skip
PAIR = {"grid": 2, "cluster": 2}


def test_peer_that_may_have_exited():
    expect_clean(EXCHANGE, **PAIR)
    expect(without(EXCHANGE, 5), "cluster-lifetime", 4, ["may have exited"], **PAIR)


def test_peer_that_may_not_have_started():
    report, _ = run(without(EXCHANGE, 2), **PAIR)
    assert ("cluster-lifetime", 4) in {(f.kind, f.line) for f in report.findings}


def test_relaxed_cluster_barrier_orders_no_memory():
    lines = [*EXCHANGE[:1], SYNC.replace("release", "relaxed"), *EXCHANGE[2:]]
    expect(lines, "race", 4, ["ordered after the write"], **PAIR)


REMOTE = ["@q0 mbarrier.init.shared::cta.b64 [x10+2048], 1;", "@q0 fence.mbarrier_init.release.cluster;",
          "barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;",
          "mov.u32 x13, %cluster_ctarank; xor.b32 x13, x13, 1; add.u32 x12, x10, 2048; mapa.shared::cluster.u32 x14, x12, x13;",
          "@q0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [x14];", "setp.ge.u32 q1, t, 32; @q1 bra END;",
          "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q7, [x12], 0; @!q7 bra WAIT;", "END:", *KEEP]  # fmt: skip


def test_remote_mbarrier():
    """Who waits for the peer's arrival stays for it; its initialisation needs the fence when the barrier is relaxed."""
    expect_clean(REMOTE, **PAIR)
    expect(without(REMOTE, 2), "race", 5, ["fence.mbarrier_init"], **PAIR)
    expect(without(REMOTE, 7), "cluster-lifetime", 5, ["may have exited"], **PAIR)
    expect([line.replace("[x12], 0", "[x14], 0") for line in REMOTE], "illegal-operand", 7, ["another CTA"], **PAIR)


def test_multicast_to_a_cta_that_is_not_there():
    lines = [*BULK[:2], BULK[2], "mov.u16 h0, 3; " + BULK[3].replace("bytes [", "bytes.multicast::cluster [").replace("];", "], h0;"), *BULK[4:]]
    expect(lines, "illegal-operand", 4, ["0b11", "cluster of 1"])


# Dependent launches ----------------------------------------------------------------------------------------------

COPY = """.visible .entry copy(.param .u64 p0, .param .u64 p1)
{ .reg .b32 x<4>; .reg .b64 w<4>; .loc 1 7 0
WAIT ld.param.u64 w0, [p0]; ld.param.u64 w1, [p1]; mov.u32 x0, %tid.x; mul.wide.u32 w2, x0, 4; add.s64 w0, w0, w2; add.s64 w1, w1, w2;
ld.global.b32 x1, [w1]; st.global.b32 [w0], x1; ret; }
.file 1 "kernel.py"
"""


def test_the_host_code_may_be_told_of_a_small_gpu(monkeypatch):
    import torch
    from kernel_harness.simulator import driver

    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_90a")
    seen = []
    for options in ({"multiprocessors": 2}, {}):
        with driver.SimulatedDevice(**options):
            seen.append(torch.cuda.get_device_properties(0).multi_processor_count)

    assert seen == [2, 132]


@pytest.mark.parametrize(("waits", "overlaps", "found"), [(False, True, True), (True, True, False), (False, False, False)])
def test_dependent_launch_that_does_not_wait(waits, overlaps, found):
    """b = a, then c = b: the second launch may start early, and must wait before it reads b."""
    import torch
    from kernel_harness.simulator import driver

    a, b, c = torch.arange(32, dtype=torch.int32), torch.zeros(32, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
    device = driver.SimulatedDevice()
    device.arguments = [("a", a), ("b", b), ("c", c)]

    def launch(target, source, first, **options):
        text = HEADER + COPY.replace("WAIT", first)
        addresses = [x.data_ptr().to_bytes(8, "little") for x in (target, source)]
        device.launch(text, "copy", (1, 1, 1), (32, 1, 1), (1, 1, 1), 0, addresses, **options)

    launch(b, a, "griddepcontrol.launch_dependents;")
    launch(c, b, "griddepcontrol.wait;" if waits else "", overlaps=overlaps)
    assert torch.equal(c, a)
    assert [(f.kind, f.line) for f in device.findings] == ([("early-dependent", 7)] if found else [])


def test_variables_of_a_module_outlive_the_launch():
    """tickets += 1 by one thread a launch; two modules count apart."""
    import torch
    from kernel_harness.simulator import driver

    out, device = torch.zeros(1, dtype=torch.int32), driver.SimulatedDevice()
    device.arguments = [("out", out)]

    def ticket(first):
        text = HEADER + f"""
.global .u32 tickets = {first};
.visible .entry take(.param .u64 p0) {{ .reg .b32 x<2>; .reg .b64 w<3>;
ld.param.u64 w0, [p0]; mov.u64 w1, tickets; atom.global.add.u32 x0, [w1], 1; st.global.u32 [w0], x0; ret; }}
"""
        device.launch(text, "take", (1, 1, 1), (1, 1, 1), (1, 1, 1), 0, [out.data_ptr().to_bytes(8, "little")])
        return out.item()

    assert [ticket(0), ticket(0), ticket(5), ticket(0), ticket(5)] == [0, 1, 5, 2, 6]
    assert device.findings == []
