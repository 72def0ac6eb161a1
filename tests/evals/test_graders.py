"""Every grader tells a right, a wrong and a cheating submission apart."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evals"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import grade
import solutions
import tasks as catalogue
from daily import todays

TASKS = catalogue.load()
TODAYS = sorted(todays(solutions.KERNEL_TASKS, 5))  # each kernel task is compiled and simulated three times
WHERE = {"instructions": 1, "needed": 2, "verify": 3}  # the rows of a kernel task's grading
# What each wrong kernel is refused for; the others give wrong results on hidden shapes.
REFUSED_BY = {"repair-api-drift": "instructions", "repair-lost-vectors": "instructions"}


def graded(name: str, kind: str, folder: Path, has_gpu: bool = False) -> dict:
    task = TASKS[name]
    file = catalogue.ANSWER if task.kind == "decide" else catalogue.SUBMISSION
    (folder / file).write_text(getattr(solutions, kind)(name), encoding="utf-8")
    return grade.grade(task, folder, has_gpu)


@pytest.mark.cpu
def test_every_task_has_its_three_solutions():
    assert set(TASKS) == {*solutions.KERNEL_TASKS, *solutions.ANSWERS}
    for name in TASKS:
        texts = {solutions.right(name), solutions.wrong(name), solutions.cheating(name)}
        assert len(texts) == 3


@pytest.mark.cpu
@pytest.mark.parametrize("name", solutions.ANSWERS)
def test_a_decision_is_graded_by_its_one_choice(name, tmp_path):
    verdicts = [graded(name, kind, tmp_path)["verdict"] for kind in ("right", "wrong", "cheating")]

    assert verdicts == ["PASS", "FAIL", "FAIL"]


@pytest.mark.cpu
@pytest.mark.parametrize("answer", ["", "[]", '{"choice": "library"}', '{"choice": "library", "reason": "so"}'])
def test_an_answer_needs_a_reason_and_the_form(answer, tmp_path):
    (tmp_path / catalogue.ANSWER).write_text(answer)

    assert grade.grade(TASKS["decide-fft"], tmp_path)["verdict"] == "FAIL"


@pytest.mark.compile
@pytest.mark.parametrize("name", TODAYS)
def test_a_right_kernel_fails_nothing_and_claims_no_speed(name, tmp_path):
    document = graded(name, "right", tmp_path)

    passed = [row["passed"] for row in document["expectations"]]
    assert passed == [True, True, True, True, False], document["expectations"]
    assert document["expectations"][-1]["evidence"] == "undecided: no GPU"
    assert (document["verdict"], document["graded_by"]) == ("UNDECIDED", grade.WITHOUT_GPU)
    assert document["summary"] == {"passed": 4, "failed": 0, "undecided": 1, "total": 5, "pass_rate": 1.0}


@pytest.mark.compile
@pytest.mark.parametrize("name", TODAYS)
def test_a_wrong_kernel_is_refused_for_what_is_wrong_with_it(name, tmp_path):
    document = graded(name, "wrong", tmp_path)

    check = REFUSED_BY.get(name, "verify")
    row = document["expectations"][WHERE[check]]
    assert document["verdict"] == "FAIL"
    assert [r["passed"] for r in document["expectations"][: WHERE[check]]] == [True] * WHERE[check]
    assert not row["passed"]
    assert not row["undecided"]
    assert row["evidence"].startswith("WRONG RESULT") == (check == "verify"), row


@pytest.mark.compile
@pytest.mark.parametrize("name", TODAYS)
def test_the_cheat_of_each_task_is_refused(name, tmp_path):
    document = graded(name, "cheating", tmp_path)

    assert document["verdict"] == "FAIL"
    assert document["summary"]["passed"] <= 1  # that it defines kernel_fn is all that is true of it


@pytest.mark.compile
@pytest.mark.parametrize("cheat", range(len(solutions.CHEATS)))
def test_a_cheat_is_refused(cheat, tmp_path):
    (tmp_path / catalogue.SUBMISSION).write_text(solutions.CHEATS[cheat])
    document = grade.grade(TASKS["write-row-logsumexp"], tmp_path, has_gpu=False)

    assert document["verdict"] == "FAIL"
    assert document["summary"]["passed"] <= 1  # that it defines kernel_fn is all that is true of it


@pytest.mark.compile
def test_a_kernel_for_show_is_refused(tmp_path):
    launch, result = "    _compiled()(x, out)\n    return out", "    return x - x.mean(-1, keepdim=True)"
    text = solutions.right("repair-race")
    assert launch in text
    (tmp_path / catalogue.SUBMISSION).write_text(text.replace(launch, launch.replace("    return out", result)))
    document = grade.grade(TASKS["repair-race"], tmp_path, has_gpu=False)

    assert document["verdict"] == "FAIL"
    assert "right with 1 launches left out" in document["expectations"][2]["evidence"]


@pytest.mark.cpu
@pytest.mark.parametrize(("text", "evidence"), [
    (None, "there is no file"), ("def broken(:", "not Python"), ("kernel = 1", "does not define kernel_fn"),
])  # fmt: skip
def test_a_file_that_is_none_fails_at_once(text, evidence, tmp_path):
    if text is not None:
        (tmp_path / catalogue.SUBMISSION).write_text(text)
    document = grade.grade(TASKS["write-elementwise"], tmp_path, has_gpu=False)

    assert evidence in document["expectations"][0]["evidence"]
    assert document["summary"]["failed"] == 5


@pytest.mark.cpu
def test_an_undecided_script_is_no_pass(tmp_path, monkeypatch):
    (tmp_path / catalogue.SUBMISSION).write_text("def kernel_fn(x):\n    return x\n")
    kernel = {"language": "CuTe DSL", "label": "k", "registers": 1, "spill_bytes": 0}
    answers = {"inspect_kernel.py": (grade.ExitCode.PASS, {"kernels": [kernel]}, ""),
               "silenced.py": (grade.ExitCode.PASS, {"launches": 1, "close": False}, ""),
               "verify_kernel.py": (grade.ExitCode.UNDECIDED, {"verdict": "COMPILED, NOT RUN"}, "why")}  # fmt: skip
    monkeypatch.setattr(grade, "_run", lambda script, *arguments: answers[script.name])

    document = grade.grade(TASKS["write-elementwise"], tmp_path, has_gpu=False)

    assert document["verdict"] == "UNDECIDED"
    assert document["expectations"][3]["evidence"] == "undecided: COMPILED, NOT RUN: why"


@pytest.mark.cpu
@pytest.mark.parametrize(("last", "verdict", "evidence"), [
    ({"estimate": 1.2, "high": 1.3}, "PASS", "1.20 times the speed of the best of eager and torch"),
    ({"estimate": 0.9, "high": 0.95}, "FAIL", "in the worst case, last; at most 0.950"),
    ({"estimate": 0.997, "high": 1.003}, "PASS", "1.00 times the speed"),  # the target lies within the interval
    (None, "UNDECIDED", "nothing to compare with in case last"),
])  # fmt: skip
def test_on_a_gpu_the_speed_against_the_best_baseline_decides(last, verdict, evidence, tmp_path, monkeypatch):
    (tmp_path / catalogue.SUBMISSION).write_text("def kernel_fn(x):\n    return x\n")
    kernel = {"language": "CuTe DSL", "label": "k", "registers": 1, "spill_bytes": 0}
    first = {"name": "first", "speedup": {"against": "torch.compile", "estimate": 1.5, "high": 1.6}}
    answers = {"inspect_kernel.py": {"kernels": [kernel]}, "silenced.py": {"launches": 1, "close": False},
               "benchmark_kernel.py": {"cases": [first, {"name": "last", "speedup": last}]},
               "verify_kernel.py": {"verdict": "PASS", "comparisons": [{"case": "default"}]}}  # fmt: skip
    asked = {}

    def run(script, *arguments):
        asked[script.name] = arguments
        return grade.ExitCode.PASS, answers[script.name], ""

    monkeypatch.setattr(grade, "_run", run)
    document = grade.grade(TASKS["write-elementwise"], tmp_path, has_gpu=True)

    assert document["verdict"] == verdict
    assert evidence in document["expectations"][-1]["evidence"]
    assert all(grade._timed_cases(TASKS[name]) for name in solutions.KERNEL_TASKS)
    assert asked["benchmark_kernel.py"][1:9] == (
        "--against", "eager", "--against", "torch.compile", "--case", "16M", "--case", "256M")  # fmt: skip
