"""The tasks and the trigger queries: complete, consistent, and in the shape that the known tools read."""

import ast
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evals"))

import tasks as catalogue

ROOT = Path(__file__).resolve().parents[2]
TASKS = catalogue.load()
EVALS = json.loads((ROOT / "evals/evals.json").read_text())
pytestmark = pytest.mark.cpu


def test_there_are_sixteen_tasks_of_four_kinds():
    assert len(TASKS) >= 16
    assert set(Counter(task.kind for task in TASKS.values())) == set(catalogue.KINDS)
    assert all(0 < task.minutes <= 90 for task in TASKS.values())


def test_evals_json_has_the_shape_of_agentskills_skill_creator_and_skillevaluator():
    assert EVALS["skill_name"] == "cute-dsl-kernels"
    assert [entry["id"] for entry in EVALS["evals"]] == list(range(1, len(TASKS) + 1))
    for entry in EVALS["evals"]:
        texts = ("prompt", "expected_output", "expected_skill")
        assert all(isinstance(entry[key], str) and entry[key] for key in texts)
        assert isinstance(entry["files"], list)  # when it is absent, every fixture is handed out
        assert entry["assertions"] == entry["expectations"] != []
        assert entry["should_trigger"] is True
        for file in (*entry["files"], *([entry["expected_script"]] if "expected_script" in entry else [])):
            assert (ROOT / file).is_file()


@pytest.mark.parametrize("task", TASKS.values(), ids=str)
def test_what_is_graded_is_what_the_assertions_say(task):
    assert list(task.expectations().values()) == list(task.assertions)
    entry = EVALS["evals"][task.id - 1]
    assert entry["prompt"] == task.prompt
    assert [ROOT / file for file in entry["files"]] == task.fixtures
    if task.kind == "decide":
        assert set(task.accepted) < set(task.choices)
        assert all(choice in task.prompt for choice in task.choices)
        return
    assigned = [node for node in ast.parse(task.hidden.read_text()).body if isinstance(node, ast.Assign)]
    names = {name.id for node in assigned for name in node.targets}
    assert {"ARCHS", "EXPECT", "TEST_CASES", "BENCH_CASES"} <= names
    assert bool(task.fixtures) == (task.kind in ("repair", "improve"))
    assert "kernel.py" in task.prompt


def test_no_task_is_solved_by_a_file_of_the_skill():
    for task in TASKS.values():
        for fixture in task.fixtures:
            text = fixture.read_text()
            assert all(text != path.read_text() for path in [*ROOT.glob("templates/*.py"), *ROOT.glob("examples/*.py")])


def test_trigger_queries_are_half_near_misses():
    queries = json.loads((ROOT / "evals/triggers.json").read_text())

    assert len(queries) >= 24
    assert len({row["query"] for row in queries}) == len(queries)
    assert all(set(row) == {"query", "should_trigger"} for row in queries)
    assert sum(row["should_trigger"] for row in queries) * 2 == len(queries)
