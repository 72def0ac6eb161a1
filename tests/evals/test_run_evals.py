"""run_evals.py with made-up agents: clean folders, limits, transcripts, resumption, and never a call too many."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "evals" / "run_evals.py"
RIGHT = json.dumps({"choice": "library", "reason": "cuFFT is at the limit of the memory already."})
pytestmark = pytest.mark.cpu

# It notes each of its calls beside the runs, says what it sees, and answers.
AGENT = f"""
import json, pathlib, sys
prompt, log = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
with log.open("a") as file:
    file.write(str(prompt.parent) + "\\n")
print("files:", sorted(path.name for path in pathlib.Path(".").iterdir()), prompt.read_text()[:20])
print(json.dumps({{"type": "turn.completed", "usage": {{"input_tokens": 90, "output_tokens": 10}}}}))
pathlib.Path("answer.json").write_text({RIGHT!r})
"""


@pytest.fixture
def agent(tmp_path):
    """agent(source) -> the command line of an agent with that source, which gets the prompt and a log of calls."""

    def command(source=AGENT):
        (tmp_path / "agent.py").write_text(source)
        return f"{sys.executable} {tmp_path}/agent.py {{prompt_file}} {tmp_path}/calls.log"

    return command


def start(command, out, *arguments):
    task = () if "--task" in arguments else ("--task", "decide-fft")
    words = [sys.executable, str(SCRIPT), "--agent", command, *task, "-o", str(out), *arguments]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def run(command, out, *arguments):
    process = start(command, out, *arguments)
    stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout, stderr


def written(path, patience=60):
    """Is there a line in the file, or soon so?"""
    deadline = time.monotonic() + patience
    while not (path.exists() and path.read_text().endswith("\n")) and time.monotonic() < deadline:
        time.sleep(0.05)
    return path.exists()


def calls(tmp_path):
    log = tmp_path / "calls.log"
    return log.read_text().splitlines() if log.exists() else []


def ended(pid, patience=10.0):
    """Is the process gone, or soon so?"""
    status, deadline = Path("/proc", str(pid), "stat"), time.monotonic() + patience
    while status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z":
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_both_arms_are_run_graded_and_reported(agent, tmp_path):
    out = tmp_path / "out"
    code, stdout, stderr = run(agent(), out, "--both", "--repeat", "2", "--jobs", "2")

    assert code == 0, stderr
    assert stdout.strip() == str(out / "BENCHMARK.md")
    benchmark = json.loads((out / "benchmark.json").read_text())
    assert {(r["configuration"], r["run_number"]) for r in benchmark["runs"]} == {
        (arm, number) for arm in ("with_skill", "without_skill") for number in (1, 2)}  # fmt: skip
    assert benchmark["run_summary"]["with_skill"]["pass_rate"] == {"mean": 1, "stddev": 0, "min": 1, "max": 1, "n": 2}
    assert benchmark["run_summary"]["with_skill"]["tokens"]["mean"] == 100
    assert benchmark["run_summary"]["delta"]["pass_rate"] == 0
    assert len(calls(tmp_path)) == benchmark["metadata"]["calls"] == 4
    report = (out / "BENCHMARK.md").read_text()
    assert "| decide-fft | with_skill | PASS, PASS |" in report
    assert "| speedup | not reported | not reported |" in report


def test_only_one_arm_sees_the_skill_and_it_is_whole(agent, tmp_path):
    out = tmp_path / "out"
    run(agent(), out, "--both")
    place = out / "runs" / "decide-fft"

    assert "files: [] A signal pipeline" in (place / "without_skill/1/transcript.txt").read_text()
    assert "files: ['.agents', '.claude']" in (place / "with_skill/1/transcript.txt").read_text()
    skill = place / "with_skill/1/workspace/.claude/skills/cute-dsl-kernels"
    assert (skill / "SKILL.md").read_text() == (ROOT / "SKILL.md").read_text()
    assert not (skill / "evals").exists()
    assert not (skill / "tests").exists()


def test_the_same_command_again_calls_nobody(agent, tmp_path):
    out = tmp_path / "out"
    run(agent(), out, "--with-skill")
    before = (out / "runs/decide-fft/with_skill/1/grading.json").stat().st_mtime_ns
    code, _, stderr = run(agent(), out, "--with-skill")

    assert code == 0
    assert "decide-fft/with_skill/1: done before" in stderr
    assert len(calls(tmp_path)) == 1
    assert (out / "runs/decide-fft/with_skill/1/grading.json").stat().st_mtime_ns == before


def test_nothing_is_graded_beside_an_agent(agent, tmp_path):
    out = tmp_path / "out"
    code, _, stderr = run(agent("import sys, time\ntime.sleep(2 * ('/2/' in sys.argv[1]))" + AGENT), out,
                          "--with-skill", "--repeat", "2", "--jobs", "2")  # fmt: skip

    assert code == 0, stderr
    said = [line.partition(": ")[2] for line in stderr.splitlines()]
    assert said[: said.index("grading")].count("the agent has ended") == 2


def test_a_time_limit_ends_the_agent_and_its_children_and_what_is_there_is_graded(agent, tmp_path):
    source = AGENT + f"""
import subprocess, time
deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", deaf])
pathlib.Path({str(tmp_path)!r}, "child").write_text(str(child.pid))
time.sleep(600)
"""
    out = tmp_path / "out"
    code, _, stderr = run(agent(source), out, "--without-skill", "--minutes", "0.03")

    assert code == 0, stderr
    (record,) = json.loads((out / "benchmark.json").read_text())["runs"]
    assert (record["timed_out"], record["verdict"]) == (True, "PASS")
    assert ended(int((tmp_path / "child").read_text()))


def test_a_killed_run_goes_on_without_repeating_or_losing_a_call(agent, tmp_path):
    """The first call ends; the second is cut by SIGKILL. Resumed, the first is kept and the second only on request."""
    out = tmp_path / "out"
    slow = f"""
import os, sys, time
if "/2/" in sys.argv[1]:
    with open({str(tmp_path)!r} + "/agent.pid", "w") as file:
        file.write(str(os.getpid()))
    with open(sys.argv[2], "a") as file:
        file.write("interrupted\\n")
    time.sleep(600)
""" + AGENT
    process = start(agent(slow), out, "--without-skill", "--repeat", "2")
    deadline = time.monotonic() + 60
    while len(calls(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert ended(int((tmp_path / "agent.pid").read_text()))  # no agent works on without its runner

    code, _, stderr = run(agent(), out, "--without-skill", "--repeat", "2")
    assert code == 6
    assert "raise --max-calls" in stderr
    assert len(calls(tmp_path)) == 2
    assert json.loads((out / "benchmark.json").read_text())["metadata"]["missing"] == ["decide-fft/without_skill/2"]

    code, _, _ = run(agent(), out, "--without-skill", "--repeat", "2", "--max-calls", "3")
    assert code == 0
    assert len(calls(tmp_path)) == 3
    assert [r["verdict"] for r in json.loads((out / "benchmark.json").read_text())["runs"]] == ["PASS", "PASS"]


def send(process, number, thread):
    """Send a signal that the kernel gives to the main thread of the process, or to another of its threads."""
    if thread == "main":
        process.send_signal(number)
        return
    others = [int(task.name) for task in Path("/proc", str(process.pid), "task").iterdir()]
    others.remove(process.pid)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.tgkill(process.pid, others[0], number) == 0, os.strerror(ctypes.get_errno())


@pytest.mark.parametrize("thread", ["main", "another"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_stopped_run_stops_its_agent_and_takes_nothing_for_its_result(number, thread, agent, tmp_path):
    out, pid = tmp_path / "out", tmp_path / "pid"
    slow = f"""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open({str(pid)!r}, "w") as file:
    file.write(f"{{os.getpid()}}\\n")
time.sleep(600)
"""
    process = start(agent(slow), out, "--both", "--jobs", "2")
    assert written(pid)
    send(process, number, thread)
    stdout, stderr = process.communicate(timeout=40)

    assert (process.returncode, stdout) == (128 + number, ""), stderr
    assert "Traceback" not in stderr
    assert ended(int(pid.read_text()))
    assert not list(out.rglob("timing.json"))
    code, _, stderr = run(agent(), out, "--both", "--max-calls", "4")
    assert code == 0, stderr


def test_a_stopped_run_makes_no_call_of_those_that_wait(agent, tmp_path):
    out, pid = tmp_path / "out", tmp_path / "pid"
    source = f"import pathlib, time\npathlib.Path({str(pid)!r}).write_text('here' + chr(10))\ntime.sleep(600)"
    process = start(agent(source), out, "--both")
    assert written(pid)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=40)

    assert len((out / "calls.jsonl").read_text().splitlines()) == 1


def test_a_stopped_grading_is_no_failure_of_the_agent(agent, tmp_path):
    """kernel_fn never ends, and the first script of the grader waits for it."""
    out, pid = tmp_path / "out", tmp_path / "pid"
    kernel = f"""
import os, time
def kernel_fn(*inputs):
    with open({str(pid)!r}, "w") as file:
        file.write(str(os.getpid()) + chr(10))
    time.sleep(600)
def reference_fn(*inputs):
    pass
def get_inputs():
    return []
"""
    source = f"import pathlib\npathlib.Path('kernel.py').write_text({kernel!r})"
    process = start(agent(source), out, "--without-skill", "--task", "write-elementwise")
    assert written(pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    _, stderr = process.communicate(timeout=40)

    assert process.returncode == 130, stderr
    assert ended(int(pid.read_text()))
    assert (out / "runs/write-elementwise/without_skill/1/timing.json").exists()
    assert not (out / "runs/write-elementwise/without_skill/1/grading.json").exists()


def test_a_command_that_cannot_be_started_costs_no_call(agent, tmp_path):
    out = tmp_path / "out"
    code, _, stderr = run("/nowhere/agent {prompt_file}", out, "--both")

    assert (code, stderr.count("\n")) == (2, 1), stderr
    code, _, stderr = run(agent(), out, "--both")
    assert code == 0, stderr


def test_the_limit_on_calls_holds_with_several_jobs(agent, tmp_path):
    code, _, stderr = run(agent(), tmp_path / "out", "--both", "--repeat", "3", "--jobs", "4", "--max-calls", "2")

    assert code == 6
    assert len(calls(tmp_path)) == 2
    assert "4 runs were not made" in stderr


def test_a_failing_agent_is_a_result_and_no_error(agent, tmp_path):
    out = tmp_path / "out"
    code, _, _ = run(agent("raise SystemExit(3)"), out, "--without-skill")

    assert code == 0
    assert "answer.json cannot be read" in (out / "BENCHMARK.md").read_text()
    assert json.loads((out / "runs/decide-fft/without_skill/1/timing.json").read_text())["exit_code"] == 3


def test_a_lost_worker_of_a_cluster_loses_nothing_and_grades_nothing_twice(agent, tmp_path):
    """The second call's worker process is killed: it counts, its agent ends with it, and it is repeated on request."""
    out, graded = tmp_path / "out", tmp_path / "out/runs/decide-fft/without_skill/1/grading.json"
    doomed = f"""
import os, sys, time
if not os.path.exists({str(tmp_path)!r} + "/first"):
    open({str(tmp_path)!r} + "/first", "w").close()
else:
    with open({str(tmp_path)!r} + "/pids", "w") as file:
        file.write(f"{{os.getppid()}} {{os.getpid()}}\\n")
    with open(sys.argv[2], "a") as file:
        file.write("interrupted\\n")
    time.sleep(600)
""" + AGENT
    process = start(agent(doomed), out, "--without-skill", "--repeat", "2", "--ray", "local")
    pids, deadline = tmp_path / "pids", time.monotonic() + 180
    while not (pids.exists() and pids.read_text().endswith("\n") and graded.with_name("timing.json").exists()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    worker, call = map(int, pids.read_text().split())
    os.kill(worker, signal.SIGKILL)
    _, stderr = process.communicate(timeout=120)

    assert process.returncode == 6, stderr
    assert "decide-fft/without_skill/2: interrupted" in stderr
    assert ended(call)
    before = graded.stat().st_mtime_ns
    code, _, stderr = run(agent(), out, "--without-skill", "--repeat", "2", "--max-calls", "3", "--ray", "local")
    assert code == 0, stderr
    assert graded.stat().st_mtime_ns == before
    assert len(calls(tmp_path)) == 3
    assert [r["verdict"] for r in json.loads((out / "benchmark.json").read_text())["runs"]] == ["PASS", "PASS"]
    assert "files: []" in (graded.parents[1] / "2/transcript.txt").read_text()


def test_a_worker_that_is_lost_while_it_grades_costs_time_only(agent, tmp_path):
    """Its script and the kernel in it end with it, another worker grades the same work, and nobody is called again."""
    out, seen = tmp_path / "out", tmp_path / "seen"
    kernel = f"""
import os, pathlib, time
seen = pathlib.Path({str(seen)!r})
def kernel_fn(*inputs):
    if not seen.exists():
        pid = os.getpid()
        while b"_elsewhere" not in pathlib.Path(f"/proc/{{pid}}/cmdline").read_bytes():
            pid = int(pathlib.Path(f"/proc/{{pid}}/stat").read_text().rpartition(")")[2].split()[1])
        seen.write_text(f"{{pid}} {{os.getpid()}}\\n")
        time.sleep(600)
    raise RuntimeError("the second grading came here")
def reference_fn(*inputs):
    return inputs[0]
def get_inputs(**sizes):
    return []
"""
    source = AGENT + f"pathlib.Path('kernel.py').write_text({kernel!r})"
    arguments = "--without-skill", "--task", "write-elementwise", "--ray", "local"
    process = start(agent(source), out, *arguments)
    assert written(seen, patience=180), process.communicate()
    worker, grading = map(int, seen.read_text().split())
    os.kill(worker, signal.SIGKILL)
    _, stderr = process.communicate(timeout=240)

    assert process.returncode == 0, stderr
    assert ended(grading)
    graded = out / "runs/write-elementwise/without_skill/1/grading.json"
    assert "the second grading came here" in graded.read_text()
    assert len(calls(tmp_path)) == len((out / "calls.jsonl").read_text().splitlines()) == 1
    before = graded.stat().st_mtime_ns
    code, _, stderr = run(agent(), out, *arguments)
    assert (code, graded.stat().st_mtime_ns, len(calls(tmp_path))) == (0, before, 1), stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (("--agent", "x"), "{prompt_file}"),
    (("--agent", "x {prompt_file}", "--task", "no-such"), "there is no task no-such"),
    (("--agent", "/nowhere/agent {prompt_file}", "--task", "decide-fft"), "the agent cannot be started"),
    (("--agent", "./agent {prompt_file}"), "give ./agent its whole path"),
    (("--agent", "agent '{prompt_file}"), "no closing quotation"),
    (("--agent", "x {prompt_file}", "-o", __file__), "cannot be a folder"),
])  # fmt: skip
def test_a_wrong_call_is_one_sentence(arguments, words, tmp_path):
    done = subprocess.run([sys.executable, "-S", str(SCRIPT), "-o", str(tmp_path / "o"), *arguments],
                          capture_output=True, text=True)  # fmt: skip

    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_usage_is_read_from_both_forms_of_transcript(tmp_path):
    sys.path.insert(0, str(ROOT / "evals"))
    import usage

    file = tmp_path / "transcript.txt"
    usages = {"input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 2}
    lines = ["noise", json.dumps({"type": "assistant", "usage": {"input_tokens": 5}}),
             json.dumps({"type": "result", "usage": usages})]  # fmt: skip
    file.write_text("\n".join(lines))
    assert usage.tokens(file, 10**6) == 12
    file.write_text('{"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}}\n' * 2)
    assert usage.tokens(file, 10**6) == 6
    file.write_text("no tokens here\n")
    assert usage.tokens(file, 10**6) is None
