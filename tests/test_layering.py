"""Who may import what: scripts on the library, the library on torch and rich only where its map says so."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "scripts" / "kernel_harness"
# Modules that run in workers, or in the judge after its workers started, and need torch from their first line.
WITH_TORCH = {
    "values",
    "compare",
    "variations",
    "nonfinite",
    "fingerprint",
    "trials",
    "judgement",
    "structure",
    "outputs",
    "null_kernels", "diagnosis", "slots", "roundings", "choices",
    "file_checks",
    "value_trials", "hostile_trials", "signs",
    "rule_breakers",
    "poison",
    "surroundings",
    "witness",
    "own_inputs",
    "together",
    "failures",
    "device_trials",
    "graph_nodes",
    "structured", "symbols",
    "integers",
    "seeding",
    "rare_draws",
    "flushed",
    "thresholds",
    "ties",
    "oracle",
    "candidate",
    "contender",
    "input_sets",
    "burst_evidence",
    "referee",
    "profile_target",
    "stand_in",
    "listen_cute",
    "listen_triton",
}
STANDARD_LIBRARY = set(sys.stdlib_module_names) | {"__future__", "kernel_harness"}
pytestmark = pytest.mark.cpu


def imports(path: Path, top_level_only: bool) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level_only else ast.walk(tree)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", sorted((ROOT / "scripts").glob("*.py")), ids=lambda p: p.name)
def test_scripts_import_the_standard_library_and_the_harness(path):
    assert imports(path, top_level_only=True) <= STANDARD_LIBRARY
    assert len(path.read_text().splitlines()) <= 100


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*.py")), ids=lambda p: p.stem)
def test_rich_is_imported_by_the_report_alone(path):
    if path.stem != "report":
        assert "rich" not in imports(path, top_level_only=False)


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*.py")), ids=lambda p: p.stem)
def test_heavy_packages_are_imported_lazily(path):
    heavy = imports(path, top_level_only=True) - STANDARD_LIBRARY

    assert heavy <= ({"torch"} if path.stem in WITH_TORCH else set())


@pytest.mark.parametrize("path", sorted(LIBRARY.rglob("*.py")), ids=lambda p: str(p.relative_to(LIBRARY)))
def test_modules_stay_small(path):
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize(
    "path", sorted([*ROOT.glob("templates/*.py"), *ROOT.glob("examples/**/*.py")]), ids=lambda p: p.name
)
def test_templates_and_examples_stand_alone(path):
    allowed = {"torch", "cutlass", "cuda"} | ({"jax"} if path.name == "jax_call.py" else set())
    assert imports(path, top_level_only=False) <= set(sys.stdlib_module_names) | allowed


@pytest.mark.parametrize(
    "path", sorted([*ROOT.glob("templates/*.py"), *ROOT.glob("examples/**/*.py")]), ids=lambda p: p.name
)
def test_kernel_files_have_no_postponed_annotations(path):
    assert "__future__" not in imports(path, top_level_only=True)  # breaks @cute.struct and Constexpr parameters


def test_nothing_imports_the_tests():
    for path in [*ROOT.glob("scripts/**/*.py"), *ROOT.glob("templates/*.py"), *ROOT.glob("examples/**/*.py")]:
        assert not imports(path, top_level_only=False) & {"tests", "corpus", "conftest"}


def test_the_repository_has_no_symbolic_links():
    tracked = [
        p
        for folder in ("scripts", "templates", "examples", "references", "tests", "results", "evals")
        for p in (ROOT / folder).rglob("*")
    ]

    assert not [p for p in tracked if p.is_symlink()]
