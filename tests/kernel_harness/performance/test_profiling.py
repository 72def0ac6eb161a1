"""ncu's raw page becomes plain names, and metrics become a diagnosis that points to a page that exists."""

import time
from pathlib import Path

import pytest
from kernel_harness.performance import profiling

pytestmark = pytest.mark.cpu

ROOT = Path(__file__).resolve().parents[3]
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"

RAW = "\n".join([
    "==PROF== Connected to process 1",
    '"ID","Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum","launch__registers_per_thread",'
    f'"{STALL.format("long_scoreboard")}","{STALL.format("barrier")}"',
    '"","","ns","byte","register/thread","inst","inst"',
    '"0","my_kernel","23,264","67,117,312","32","24.18","0"',
])


def healthy(**changes):
    """A kernel with nothing to say about."""
    return {"duration_us": 50.0, "dram_percent": 50.0, "tensor_percent": 0.0, "grid": 2000.0, "waves": 7.8,
            "occupancy_limit_percent": 100.0, "stalls": {}} | changes


def test_raw_page_is_read_under_plain_names():
    [kernel] = profiling.parse(RAW)
    assert kernel["name"] == "my_kernel"
    assert (kernel["duration_us"], kernel["dram_read_bytes"], kernel["registers"]) == (23.264, 67117312, 32)
    assert kernel["stalls"] == {"long_scoreboard": 24.18}
    assert kernel["tensor_percent"] is None


def test_output_without_metrics_is_no_kernel():
    assert profiling.parse("==ERROR== ERR_NVGPUCTRPERM") == []


@pytest.mark.parametrize(("changes", "what"), [
    ({"dram_percent": 90.0}, "at the memory limit"),
    ({"tensor_percent": 90.0}, "at the compute limit"),
    ({"dram_read_bytes": 3e8, "dram_percent": 70.0}, "moves more bytes than it must"),
    ({"grid": 16.0}, "does not fill the GPU"),
    ({"waves": 1.2}, "last wave leaves multiprocessors idle"),
    ({"shared_wavefronts": 100.0, "bank_conflicts": 40.0}, "bank conflicts"),
    ({"occupancy_limit_percent": 12.5, "registers": 255.0}, "few warps fit"),
    ({"stalls": {"selected": 1.0, "barrier": 9.0}}, "wait mostly for other warps at a barrier"),
    ({"duration_us": 2.0}, "launching it matters"),
])
def test_each_finding_has_evidence_and_a_page(changes, what):
    [found] = profiling.diagnose(healthy(**changes), compulsory_bytes=1e8, sm_count=132)
    assert what in found.what
    assert any(character.isdigit() for character in found.evidence)
    assert (ROOT / found.page).exists()


def test_every_stall_reason_names_a_page_that_exists():
    for _, page in profiling.STALLS.values():
        assert (ROOT / f"references/{page}.md").exists()


def test_healthy_kernel_has_nothing_to_say():
    assert profiling.diagnose(healthy(), 1e8, 132) == []


def test_a_profiler_that_hangs_is_given_up_with_what_it_started(tmp_path):
    """ncu's program outlives it and would keep its output open."""
    ncu = tmp_path / "ncu"
    ncu.write_text("#!/bin/sh\nsleep 300 &\nwait\n")
    ncu.chmod(0o755)
    started = time.monotonic()

    with pytest.raises(profiling.ProfilerFailed, match="no answer within"):
        profiling.collect(str(ncu), tmp_path / "kernel.py", "default", "kernel", 0.5, tmp_path / "kernel.py")
    assert time.monotonic() - started < 60


def code(**changes):
    """A kernel's description with nothing to say about."""
    return {"spill_bytes": 0, "registers": 64, "families": {"tensor core": {}}, "ptx_global": {"ld.128": 4, "ld.16": 8},
            "sass": {"CALL.REL.NOINC": 3},
            "occupancy": [LOW[0] | {"blocks": 4, "warps": 32, "fraction": 0.5}]} | changes


LOW = [{"device": "H200", "blocks": 1, "warps": 8, "fraction": 0.125, "limited_by": "registers"}]


@pytest.mark.parametrize(("changes", "what"), [
    ({"spill_bytes": 128}, "it spills registers"),
    ({"occupancy": LOW}, "few warps fit a multiprocessor, limited by registers"),
    ({"ptx_global": {"ld.16": 16, "st.128": 1}}, "no global load is wider than 32 bits"),
    ({"sass": {"CALL.REL.NOINC": 8, "FFMA": 90}}, "each quotient, reciprocal or root has a branch"),
])
def test_code_is_diagnosed_with_evidence_and_a_page(changes, what):
    [found] = profiling.diagnose_code(code(**changes))
    assert what in found.what
    assert any(character.isdigit() for character in found.evidence)
    assert (ROOT / found.page).exists()


def test_healthy_code_has_nothing_to_say():
    assert profiling.diagnose_code(code()) == []
    assert profiling.diagnose_code(code(occupancy=LOW, families={"tensor core": {"HGMMA": 8}})) == []
    assert profiling.diagnose_code(code(ptx_global={"ld.32": 4}, families={"TMA": {"UTMALDG.4D": 4}})) == []


def test_another_file_is_profiled_on_the_inputs_of_the_first(tmp_path):
    ncu, given = tmp_path / "ncu", tmp_path / "given"
    ncu.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {given}\n')
    ncu.chmod(0o755)

    with pytest.raises(profiling.ProfilerFailed):
        profiling.collect(str(ncu), tmp_path / "other.py", "large", "kernel", 30, tmp_path / "kernel.py")

    *_, file, case, subject, inputs_of = given.read_text().splitlines()
    assert (file, case) == (str(tmp_path / "other.py"), "large")
    assert (subject, inputs_of) == ("kernel", str(tmp_path / "kernel.py"))
