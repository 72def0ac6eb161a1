"""examples/README.md: every example has a row, and the column of measurements is what results/ says."""

import examples_table
import pytest
from examples_table import PAGE, ROOT, ROW, page, standing

pytestmark = pytest.mark.cpu


def test_every_example_has_a_row():
    rows = [(PAGE.parent / match["link"]).resolve() for match in ROW.finditer(PAGE.read_text())]
    folders = {link.parent for link in rows if link.name == "README.md"}
    files = [path for path in PAGE.parent.rglob("*.py") if "__pycache__" not in path.parts]

    lacking = [str(f.relative_to(ROOT)) for f in files if f not in rows and f.parent not in folders]
    assert lacking == [], "add a row to examples/README.md, then run python tests/examples_table.py"
    assert [str(link) for link in rows if not link.is_file()] == []
    assert len(rows) == len(set(rows))


def test_the_measurements_are_those_of_the_results():
    assert PAGE.read_text() == page(), "python tests/examples_table.py writes the column"


def test_a_kernel_without_evidence_shows_no_ratio(monkeypatch, tmp_path):
    (tmp_path / "unmeasured.txt").write_text(
        (ROOT / "results" / "unmeasured.txt").read_text() + "examples/row_logsumexp.py  timed before it changed\n"
    )
    monkeypatch.setattr(examples_table, "UNMEASURED", tmp_path / "unmeasured.txt")

    assert standing("templates/gemm_sm100.py", {}) == "never run on a GPU"
    assert standing("examples/row_logsumexp.py", {}) == "not measured in this state"
    assert standing("examples/integration/jax_call.py", {}) == "no times"
    assert standing("examples/integration/aot_export/load.py", {}) == "no kernel"


def test_evidence_shows_the_range_of_its_own_cases():
    cases = [
        {"kernel": "a.py", "ratio": 1.5, "best_peer": "eager"},
        {"kernel": "a.py", "ratio": 0.98, "best_peer": "quack"},
        {"kernel": "b.py", "ratio": 9.0, "best_peer": "eager"},
    ]

    def shown(file, gpu="NVIDIA H200"):
        document = {"environment": {"gpu": gpu}, "cases": cases}
        return standing(file, {file: [(ROOT / "results" / "x.json", document)]})

    assert shown("a.py") == "0.98 to 1.50: eager, quack ([evidence](../results/x.json))"
    assert shown("b.py") == "9.00: eager ([evidence](../results/x.json))"
    assert shown("c.py") == "right on a GPU, no peer timed in this state"
    assert shown("c.py", gpu=None) == "never run on a GPU"


def test_of_several_races_the_newest_counts():
    def race(day, ratio):
        cases = [{"kernel": "a.py", "ratio": ratio, "best_peer": "eager"}]
        return ROOT / "results" / f"{day}.json", {"environment": {"date": day}, "cases": cases}

    shown = standing("a.py", {"a.py": [race("2026-11-24", 0.8), race("2026-11-22", 9.0)]})

    assert shown == "0.80: eager ([evidence](../results/2026-11-24.json))"
