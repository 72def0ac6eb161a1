"""new_kernel.py: every copy keeps the code of its source, nothing is overwritten, and a copy compiles as it stands."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_harness import scaffold

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "new_kernel.py"


def run(*arguments, cwd, script=SCRIPT):
    return subprocess.run([sys.executable, "-S", str(script), *arguments], capture_output=True, text=True, cwd=cwd)


@pytest.mark.cpu
def test_every_template_can_be_a_source():
    templates = set(ROOT.glob("templates/*.py"))

    assert templates
    assert templates <= set(scaffold.sources().values())


@pytest.mark.cpu
@pytest.mark.parametrize("name", scaffold.sources())
def test_a_copy_differs_from_its_source_in_the_docstring_alone(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new, source = scaffold.create("my_kernel", name)
    copied, original = ast.parse(new.read_text()), ast.parse(source.read_text())

    assert ast.dump(ast.Module(copied.body[1:], [])) == ast.dump(ast.Module(original.body[1:], []))
    docstring = ast.get_docstring(copied)
    assert f"Copied from {source.relative_to(ROOT)}" in docstring
    assert "python scripts/" not in docstring
    assert "\nMeasured" not in docstring
    if "verify_kernel.py" in docstring:
        assert f"python {ROOT}/scripts/verify_kernel.py my_kernel.py" in docstring


@pytest.mark.cpu
@pytest.mark.parametrize(("arguments", "words"), [
    (("new", "--from", "redaction"), "did you mean reduction"),
    (("taken", "--from", "reduction"), "taken.py exists"),
    (("no/where", "--from", "reduction"), "there is no folder no"),
    (("my-kernel", "--from", "reduction"), "no module name"),
    (("new",), "--from TEMPLATE"),
    (("new", "--from", "reduction", "--list"), "--list creates nothing"),
    (("n" * 300, "--from", "reduction"), "cannot be written"),
])  # fmt: skip
def test_a_wrong_call_is_one_sentence_and_writes_nothing(arguments, words, tmp_path):
    (tmp_path / "taken.py").write_text("mine")
    done = run(*arguments, cwd=tmp_path)

    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["taken.py"]
    assert (tmp_path / "taken.py").read_text() == "mine"


@pytest.mark.cpu
def test_a_broken_link_is_not_written_through(tmp_path):
    (tmp_path / "link.py").symlink_to(tmp_path / "elsewhere.py")

    assert run("link", "--from", "reduction", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "elsewhere.py").exists()


@pytest.mark.cpu
def test_list_names_what_from_takes(tmp_path):
    done = run("--list", cwd=tmp_path)

    assert [line.split()[0] for line in done.stdout.splitlines()] == list(scaffold.sources())


@pytest.mark.compile
def test_a_copy_compiles_as_it_stands(tmp_path):
    assert run("work", "--from", "templates/elementwise.py", cwd=tmp_path).returncode == 0
    verify = [sys.executable, str(ROOT / "scripts/verify_kernel.py"), "work.py", "--compile-only", "--arch", "sm_90a"]
    done = subprocess.run(verify, capture_output=True, text=True, cwd=tmp_path, timeout=300)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "COMPILED" in done.stdout


@pytest.mark.cpu
def test_a_source_that_is_being_edited_is_left_out(tmp_path, monkeypatch):
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "broken.py").write_text("def kernel_fn(:\n")
    monkeypatch.setattr(scaffold, "ROOT", tmp_path)

    assert scaffold.sources() == {}
