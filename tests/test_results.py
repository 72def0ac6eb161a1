"""No number outlives the code that it was measured on."""

import json
import subprocess
import sys

import pytest
from results_table import RESULTS, ROOT, content_hash, device_code_hash, files_of, measured, table

UNMEASURED = ROOT / "results" / "unmeasured.txt"
pytestmark = pytest.mark.cpu


def unmeasured() -> dict[str, str]:
    lines = [line for line in UNMEASURED.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(maxsplit=1) for line in lines)


def kernel_files() -> list[str]:
    return sorted(
        str(path.relative_to(ROOT)) for folder in ("templates", "examples") for path in (ROOT / folder).rglob("*.py")
    )


@pytest.mark.parametrize("path", RESULTS, ids=lambda p: p.name)
def test_a_results_file_says_what_was_measured_and_where(path):
    document = json.loads(path.read_text())

    assert document["schema"] == 1
    machine = path.name.split("-")[0]
    assert (
        machine in str(document["environment"]["gpu"]).lower() if machine != "cpu" else document["environment"]["cpu"]
    )
    for key in ("topic", "method", "cases"):
        assert document[key]


@pytest.mark.parametrize("path", RESULTS, ids=lambda p: p.name)
def test_evidence_of_changed_code_is_declared(path):
    document = json.loads(path.read_text())
    stale = [file for file, sha256 in files_of(document).items() if content_hash(file) != sha256]

    undeclared = [file for file in stale if file not in unmeasured() and file not in measured()]
    assert document.get("superseded") or not undeclared, (
        f"{undeclared} changed since {path.name}: measure again, or list them in results/unmeasured.txt"
    )


def test_every_kernel_is_measured_or_declared_unmeasured():
    evidence = measured()
    declared = unmeasured()

    assert [f for f in kernel_files() if f not in evidence and f not in declared] == []
    assert [f for f in declared if f in evidence] == [], "these have evidence again: take them off the list"
    assert [f for f in declared if not (ROOT / f).is_file()] == []


def test_the_readme_shows_the_measured_figures_and_no_others():
    readme = (ROOT / "README.md").read_text()
    start, end = "<!-- results -->\n", "<!-- /results -->"

    assert readme.split(start)[1].split(end)[0] == table(), "python tests/results_table.py prints the table"


@pytest.mark.parametrize("file", sorted(unmeasured()), ids=str)
def test_an_unmeasured_kernel_quotes_no_figure(file):
    """Its docstring may name evidence of an earlier state, and must then say so."""
    measured_line = next((line for line in (ROOT / file).read_text().splitlines() if line.startswith("Measured")), "")

    assert not any(unit in measured_line for unit in (" us", "GB/s", "TFLOP", " %", "x of"))


def test_an_example_that_was_timed_says_so():
    """And one that has a figure does not say that it never ran."""
    timed = [file for file, documents in measured().items() if file.startswith("examples/") and file.count("/") == 1
             and any(case.get("kernel", file) == file and "ratio" in case for _, d in documents for case in d["cases"])]
    lines = {file: [line for line in (ROOT / file).read_text().splitlines() if line.startswith("Measured")]
             for file in timed}

    assert len(timed) > 10
    assert [file for file, found in lines.items() if len(found) != 1 or "not yet" in found[0]] == []


SAME = [(path, file) for path in RESULTS for file in json.loads(path.read_text()).get("same_device_code", {})]


@pytest.mark.compile
@pytest.mark.parametrize(("path", "file"), SAME, ids=str)
def test_device_code_that_is_said_to_be_as_measured_is(path, file, tmp_path):
    """Device times outlive a change of host code alone: the PTX of every case is that of the measured state."""
    pytest.importorskip("cutlass")
    document = json.loads(path.read_text())
    if document["files"][file] != content_hash(file):
        return   # the file has changed again, and measured() no longer counts this
    for arch, sha256 in document["same_device_code"][file]["ptx_sha256"].items():
        command = [sys.executable, ROOT / "scripts" / "inspect_kernel.py", ROOT / file, "--all-cases", "--arch", arch,
                   "--source", tmp_path / arch]
        run = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert run.returncode in (0, 1), run.stderr   # 1: EXPECT is of the first case, and another takes more registers

        assert device_code_hash(tmp_path / arch) == sha256
