"""Who may import what: scripts on the library, the library on torch and rich only where its map says so."""

import ast
import graphlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "scripts" / "kernel_harness"
# What each folder of the library may import; "" are the modules beside the folders, without the bridge `simulation`.
LAYERS = {
    "": {"api"},   # contract names what to write instead of a name that is gone
    "api": set(),
    "processes": set(),
    "compiled": {"", "api", "processes"},
    "simulator": {"compiled"},   # host code in C++
    "simulation": {"", "compiled", "simulator"},
    "inputs": {""},
    "comparison": {""},
    "observation": {"", "api", "performance", "simulation"},   # cuda_driver
    "performance": {"", "compiled", "inputs", "processes", "simulation", "simulator"},
    "roles": {"", "api", "comparison", "compiled", "inputs", "observation", "performance", "processes", "simulation"},
    "judge": {"", "api", "comparison", "compiled", "inputs", "processes", "simulation"},
}
# What runs in workers, or in the judge after its workers started, and needs torch from its first line.
WITH_TORCH = {
    "comparison", "inputs", "observation", "roles",
    "outputs", "values",
    "call_trials", "device_trials", "file_checks", "gradient_trials", "hostile_trials", "integer_breakers", "judgement",
    "nonfinite_trials", "rule_breakers", "trials", "value_trials",
    "listen_cute", "listen_triton", "stand_in",
    "burst_evidence", "profile_target",
}  # fmt: skip
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


MODULES = sorted(path for path in LIBRARY.rglob("*.py") if path.name != "__init__.py")


def folder(path: Path) -> str:
    name = path.relative_to(LIBRARY).parts[0].removesuffix(".py")
    return name if name == "simulation" or (LIBRARY / name).is_dir() else ""


def folders_imported(path: Path) -> set[str]:
    """Folders of the library, "" for a module beside them, that a module imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            found |= {folder(target) for target in ([base / a.name for a in node.names] if base == LIBRARY else [base])}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(LIBRARY)))
def test_a_folder_imports_the_layers_below_it(path):
    assert folders_imported(path) - {folder(path)} <= LAYERS[folder(path)]


def test_the_layers_have_an_order():
    """It is the order in which the library's docstring names them, the modules beside them first."""
    graphlib.TopologicalSorter(LAYERS).prepare()   # raises CycleError
    told = re.findall(r"^    ([a-z]+)  ", (LIBRARY / "__init__.py").read_text(), re.MULTILINE)
    order = ["", *(name for name in told if (LIBRARY / name).is_dir())]

    assert set(order) == set(LAYERS) - {"simulation"}
    for at, name in enumerate(order[1:], start=1):
        assert LAYERS[name] - {"simulation"} <= set(order[:at])


@pytest.mark.parametrize("package", sorted(p for p in LIBRARY.iterdir() if (p / "__init__.py").is_file()), ids=str)
def test_each_folder_names_its_modules(package):
    told = re.findall(r"\w+", ast.get_docstring(ast.parse((package / "__init__.py").read_text())))

    assert package.name == "simulator" or {path.stem for path in package.glob("[a-z]*.py")} <= set(told)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(LIBRARY)))
def test_rich_is_imported_by_the_report_alone(path):
    if path.stem != "report":
        assert "rich" not in imports(path, top_level_only=False)


@pytest.mark.parametrize("path", [path for path in MODULES if folder(path) != "simulator"], ids=lambda p: p.stem)
def test_heavy_packages_are_imported_lazily(path):
    heavy = imports(path, top_level_only=True) - STANDARD_LIBRARY

    assert heavy <= ({"torch"} if {path.stem, folder(path)} & WITH_TORCH else set())


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
