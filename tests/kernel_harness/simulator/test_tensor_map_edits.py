# ruff: noqa: E501  PTX reads better unbroken
"""Tensor maps that a kernel writes: what is copied with them, and what must come between."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from kernel_harness.simulator import UnsupportedInstruction
from one_kernel import THREADS, expect, expect_clean, run, without

HERE = Path(__file__).resolve().parent
WAIT = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 q7, [x10+2048], 0; @!q7 bra WAIT;"


def field(name, *values, space="shared::cta", at="w6"):
    kind = "b64" if name in ("global_address", "global_stride") else "b32"
    return f"@q0 tensormap.replace.tile.{name}.{space}.b1024.{kind} [{at}], {', '.join(map(str, values))};"


# 128 words of `in` as 4 rows of 32; the map is made in shared memory and copied behind them. Thread 64 uses it.
FIELDS = {
    ("global_address",): "w1", ("rank",): 1, ("elemtype",): 2, ("swizzle_mode",): 0, ("fill_mode",): 0, ("interleave_layout",): 0,
    ("box_dim", 0): 32, ("box_dim", 1): 4, ("global_dim", 0): 32, ("global_dim", 1): 4, ("global_stride", 0): 128,
    ("element_stride", 0): 1, ("element_stride", 1): 1,
}  # fmt: skip


def lines(**changes):
    fields = {**FIELDS, **{tuple(int(part) if part.isdigit() else part for part in name.split("__")): value for name, value in changes.items()}}
    return [
        "@q0 mbarrier.init.shared::cta.b64 [x10+2048], 1; setp.lt.u32 q1, t, 32; setp.eq.u32 q2, t, 64; mov.u32 x2, 0; cvt.u64.u32 w6, x10; add.s64 w7, w1, 512;"
        "@q1 st.shared.b32 [x11], x2; bar.sync 0;",
        " ".join(field(*name, value) for name, value in fields.items()),
        "bar.warp.sync -1;",
        "@q1 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [w7], [w6], 128;",
        "@q1 fence.proxy.tensormap::generic.acquire.gpu [w7], 128;",
        "bar.sync 0;",
        "@q2 mbarrier.arrive.expect_tx.shared::cta.b64 w9, [x10+2048], 512;",
        "@q2 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [x10+1024], [w7, {0, 0}], [x10+2048];",
        WAIT + " ld.shared.b32 x1, [x11+1024]; st.global.b32 [w3], x1;",
    ]


WORDS = {"source_words": THREADS + 32}


@pytest.mark.cpu
def test_a_map_made_by_the_kernel_is_copied_with():
    words = np.arange(THREADS)
    assert (expect_clean(lines(), **WORDS) == words).all()
    assert (expect_clean(lines(global_dim__1=3), **WORDS) == np.where(words < 96, words, 0)).all()
    assert (expect_clean(lines(global_stride__0=112), **WORDS) == words - words // 32 * 4).all()
    swizzled = expect_clean(lines(swizzle_mode=3), **WORDS)
    assert (swizzled == (words // 4 ^ words // 32) * 4 + words % 4).all()


@pytest.mark.cpu
def test_a_map_is_acquired_and_ordered_before_its_use():
    expect(without(lines(), 5), "missing-proxy-fence", 8, ["tensormap::generic.acquire", "thread (64, 0, 0)"], **WORDS)
    expect(without(lines(), 6), "race", 8, ["reads in + 512 bytes", "after the write by thread (0, 0, 0)"], **WORDS)


@pytest.mark.cpu
def test_a_map_that_is_changed_where_it_lies_is_acquired_again():
    change = field("global_dim", 1, 2, space="global", at="w7") + " fence.proxy.tensormap::generic.release.gpu;"
    acquire = "@q0 fence.proxy.tensormap::generic.acquire.gpu [w7], 128; bar.sync 0;"
    changed = [*lines()[:5], f"bar.sync 0; {change} {acquire}", *lines()[6:]]
    assert (expect_clean(changed, **WORDS) == np.where(np.arange(THREADS) < 64, np.arange(THREADS), 0)).all()
    changed[5] = f"bar.sync 0; {change} bar.sync 0;"
    expect(changed, "missing-proxy-fence", 8, **WORDS)


@pytest.mark.cpu
@pytest.mark.parametrize("wrong", [{"global_stride__0": 24}, {"global_dim__1": 0}, {"box_dim__0": 0}])
def test_what_no_map_can_hold(wrong):
    expect(lines(**wrong), "illegal-operand", 2, ["tensormap.replace"], **WORDS)


@pytest.mark.cpu
@pytest.mark.parametrize("other", [{"elemtype": 14}, {"swizzle_mode": 4}, {"element_stride__0": 2}, {"interleave_layout": 1}])
def test_values_that_the_simulator_lacks_stop_the_run(other):
    with pytest.raises(UnsupportedInstruction, match=next(iter(other)).split("__")[0]):
        run(lines(**other), **WORDS)


@pytest.mark.compile
def test_descriptors_of_a_triton_kernel():
    command = [sys.executable, HERE / "run_file.py", HERE / "triton_descriptors.py", "{}"]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[2] / "scripts")}

    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)

    assert done.returncode == 0, done.stderr[-2000:]
    row = json.loads(done.stdout.splitlines()[-1])
    assert row["findings"] == []
    assert row["errors"][0] <= 1e-4 * row["scales"][0]
