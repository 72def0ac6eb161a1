"""EXPECT on a machine with a GPU: checked beside the run, part of its verdict, never in the way of it."""

import signal
import subprocess
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
import verify_kernel
from kernel_harness.judge import verify_command
from kernel_harness.report import Report
from kernel_harness.verdict import ExitCode

KERNEL = Path(__file__).resolve().parents[3] / "templates" / "elementwise.py"


def options(kernel: Path, level: str = "full") -> Namespace:
    return Namespace(kernel=kernel, level=level, case=[], timeout=120)


@pytest.fixture
def hopper(monkeypatch):
    monkeypatch.setattr(verify_command.environment, "gpus", lambda: [{"compute_capability": "9.0"}])


def judged(code: ExitCode = ExitCode.PASS) -> Report:
    return Report(tool="verify_kernel", verdict=code.name, exit_code=code, document={"reasons": []}, next_steps=["x"])


def compiled(code: ExitCode, findings=(), problems=()) -> Report:
    document = {"problems": list(problems)}
    return Report(tool="inspect_kernel", verdict="EXPECT NOT MET", exit_code=code, document=document, findings=findings)


@pytest.mark.compile
def test_a_missed_expectation_is_found_for_this_gpu_alone(tmp_path, hopper):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(KERNEL.read_text() + '\nEXPECT = {"sm_90a": {"HGMMA": ">0"}, "sm_80": {"HMMA": ">0"}}\n')

    facts = verify_command.instruction_facts(options(kernel))

    assert facts.exit_code is ExitCode.WRONG_RESULT
    assert [text.partition(":")[0] for text in facts.findings] == ["EXPECT['sm_90a']"]


@pytest.mark.cpu
def test_quick_and_files_without_expectations_compile_nothing(tmp_path, hopper, monkeypatch):
    monkeypatch.setattr(verify_command, "_compile", lambda *_: pytest.fail("compiled"))
    (tmp_path / "plain.py").write_text("x = 1\n")

    assert verify_command.instruction_facts(options(KERNEL, "quick")) is None
    assert verify_command.instruction_facts(options(tmp_path / "plain.py")) is None
    monkeypatch.setattr(verify_command.environment, "gpus", list)
    assert verify_command.instruction_facts(options(KERNEL)) is None


@pytest.mark.cpu
def test_an_end_by_hand_does_not_wait_for_the_compilation(tmp_path, monkeypatch):
    compiles = subprocess.Popen(["sleep", "600"])

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(verify_command, "instruction_facts", lambda _: compiles.wait(30))
    monkeypatch.setattr(verify_command, "verify", interrupted)
    chosen = verify_kernel.parse([str(KERNEL)])

    with pytest.raises(KeyboardInterrupt):
        verify_command.run(chosen)
    assert compiles.poll() == -signal.SIGKILL


@pytest.mark.cpu
def test_a_miss_fails_a_right_kernel_and_stands_among_the_reasons():
    report = verify_command.with_facts(judged(), compiled(ExitCode.WRONG_RESULT, ["EXPECT['sm_90a']: HGMMA is 0"]))

    assert report.exit_code is ExitCode.WRONG_RESULT
    assert report.verdict == "EXPECT NOT MET"
    assert [reason["check"] for reason in report.document["reasons"]] == ["expect"]
    assert not report.next_steps


@pytest.mark.cpu
@pytest.mark.parametrize(
    "facts",
    [compiled(ExitCode.UNDECIDED, ["EXPECT: no nvdisasm"]), compiled(ExitCode.CRASH, ["x"], ["cannot be caught"])],
)
def test_what_cannot_be_compiled_apart_is_a_note(facts):
    report = verify_command.with_facts(judged(), facts)

    assert report.exit_code is ExitCode.PASS
    assert any("EXPECT was not checked" in note for note in report.notes)
    assert verify_command.with_facts(judged(), None) == judged()


@pytest.mark.cpu
def test_a_wrong_result_weighs_more_than_a_missed_fact():
    report = verify_command.with_facts(judged(ExitCode.CHEATING), compiled(ExitCode.WRONG_RESULT, ["EXPECT: x"]))

    assert (report.exit_code, report.verdict) == (ExitCode.CHEATING, "CHEATING")


@pytest.mark.cpu
def test_a_simulation_tells_what_it_is_at(monkeypatch, capsys):
    """It takes minutes: a log that says nothing for so long looks like a hang."""
    def verify(settings, progress, place):
        progress("case a: first inputs")
        return verify_command.Outcome(settings, needs_gpu="in this test")

    def compile_file(options, archs, step):
        step("kernel.py for sm_90a")
        return replace(compiled(ExitCode.PASS), document={"problems": [], "targets": ["sm_90a"], "left_out": []})

    monkeypatch.setattr(verify_command.report.Progress, "EVERY_S", 0.0)
    monkeypatch.setattr(verify_command, "verify", verify)
    monkeypatch.setattr(verify_command, "_compile", compile_file)
    monkeypatch.setattr(verify_command.report, "emit", lambda *_: ExitCode.UNDECIDED)
    settings = verify_command.Settings(KERNEL)
    asked = Namespace(**vars(options(KERNEL)), multiprocessors=None, format="plain", output=None)

    verify_command._without_gpu(asked, settings, ("sm_90a",), 0.0, verify_command.Outcome(settings))

    told = capsys.readouterr().err
    assert "kernel.py for sm_90a" in told
    assert "case a: first inputs" in told
