"""The archive and the manifests: what an agent's installer finds is a skill that works from where it lands."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from kernel_harness import package

ROOT = Path(__file__).resolve().parents[1]
NAME = "cute-dsl-kernels"
MANIFESTS = (".claude-plugin/plugin.json", ".cursor-plugin/plugin.json")
ISOLATED = [(), ("-I",), *([("-P",)] if sys.version_info >= (3, 11) else [])]


# What belongs at the top. Compiled files got in here once: CuTe DSL writes them into the current folder.
TOP = {
    ".ci", ".claude-plugin", ".cursor-plugin", ".gitignore", "AGENTS.md", "CHANGELOG.md", "CLAUDE.md", "LICENSE",
    "Makefile", "README.md", "SECURITY.md", "SKILL.md", "agents", "evals", "examples", "pyproject.toml", "references",
    "results", "scripts", "templates", "tests",
}  # fmt: skip


def git(*arguments):
    """The finished command in this checkout; a skipped test where there is none."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no checkout")
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=60)


@pytest.mark.cpu
def test_the_top_of_the_repository_holds_what_it_should():
    tracked = git("ls-files", "-z").stdout.split("\0")

    assert {name.partition("/")[0] for name in tracked if name} == TOP


@pytest.mark.cpu
@pytest.mark.parametrize("name", [
    "cutlass_launch.sm_90a.cubin", "cutlass_launch.sass", "x.ptx", "examples/x.mlir", "templates/x.tuning.jsonl",
    "eval-runs/calls.jsonl",
])  # fmt: skip
def test_what_a_compilation_or_a_run_leaves_in_a_checkout_is_not_committed(name):
    assert git("check-ignore", name).returncode == 0


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The unpacked archive's skill folder."""
    folder = tmp_path_factory.mktemp("archive")
    archive = folder / "dist" / "skill.zip"
    command = ["make", "-C", str(ROOT), "package", f"PYTHON={sys.executable} -S", f"ARCHIVE={archive}"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    with zipfile.ZipFile(archive) as file:
        file.extractall(folder / "installed")
    assert [path.name for path in (folder / "installed").iterdir()] == [NAME]
    return folder / "installed" / NAME


def run(script, *arguments, python=(), cwd):
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, *python, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environ, timeout=300)


@pytest.mark.cpu
def test_the_archive_holds_what_a_user_needs_and_nothing_else(unpacked):
    top = {path.name for path in unpacked.iterdir()}

    assert {"SKILL.md", "CHANGELOG.md", "LICENSE", "SECURITY.md", *package.FOLDERS} <= top
    assert not top & {"tests", "results", ".ci", "evals", ".git", ".gitignore", "AGENTS.md", "CLAUDE.md"}
    assert not [path for path in unpacked.rglob("*") if path.is_symlink() or path.name == "__pycache__"]
    for folder in ("scripts", "templates", "references"):
        tracked = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
        packed = {path.relative_to(unpacked) for path in (unpacked / folder).rglob("*") if path.is_file()}
        assert {path for path in tracked - packed if "__pycache__" not in path.parts} == set()


@pytest.mark.cpu
def test_the_archive_of_an_unpacked_archive_is_the_same(unpacked, tmp_path):
    package.build(tmp_path / "first.zip")
    package.build(tmp_path / "second.zip", unpacked)

    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


@pytest.mark.cpu
def test_a_symbolic_link_is_refused(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "linked.py").symlink_to(ROOT / "scripts" / "verify_kernel.py")

    with pytest.raises(SystemExit, match=r"scripts/linked\.py"):
        package.build(tmp_path / "a.zip", tmp_path)


@pytest.mark.cpu
@pytest.mark.parametrize("python", ISOLATED, ids=lambda flags: " ".join(flags) or "plain")
def test_scripts_answer_from_anywhere(unpacked, python, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(unpacked)
    for folder in (unpacked, link):
        done = run(folder / "scripts" / "verify_kernel.py", "--help", python=(*python, "-S"), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "exit codes" in done.stdout
    (tmp_path / "verify.py").symlink_to(unpacked / "scripts" / "verify_kernel.py")
    assert run(tmp_path / "verify.py", "--help", python=python, cwd="/").returncode == 0


@pytest.mark.cpu
def test_every_link_of_the_archive_leads_to_a_file_of_it(unpacked):
    links = [(page, link) for page in sorted(unpacked.rglob("*.md"))
             for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))]  # fmt: skip

    assert links
    assert [(str(page.relative_to(unpacked)), link) for page, link in links if not (page.parent / link).exists()] == []


@pytest.mark.compile
def test_the_unpacked_skill_verifies_a_kernel_and_rejects_its_planted_mistake(unpacked, tmp_path):
    right = (unpacked / "templates" / "elementwise.py").read_text(encoding="utf-8")
    formula = "OPERATIONS[\"silu\"][0](x) * y"
    assert right.count(formula) == 1
    wrong = right.replace(formula, f"{formula} + 0.1")
    for name, text, code, verdict in (("r.py", right, 0, "SIMULATED"), ("w.py", wrong, 1, "WRONG RESULT")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        done = run(unpacked / "scripts/verify_kernel.py", name, "--case", "n=7", "--level", "quick", "--simulate",
                   "--format", "json", python=("-I",), cwd=tmp_path)  # fmt: skip

        assert (done.returncode, json.loads(done.stdout)["verdict"]) == (code, verdict), done.stderr


@pytest.mark.compile
def test_a_template_is_inspected_from_another_folder_through_a_link(unpacked, tmp_path):
    (tmp_path / "skill").symlink_to(unpacked)
    template = tmp_path / "skill" / "templates" / "elementwise.py"
    done = run(tmp_path / "skill/scripts/inspect_kernel.py", str(template), "--arch", "sm_90a", "--format", "json",
               python=("-I",), cwd=tmp_path)  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kernels"][0]["sass"]["LDG.E.128"] > 0


@pytest.mark.cpu
@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_plugin_manifest_names_the_skill_and_its_version(manifest, unpacked):
    read = json.loads((unpacked / manifest).read_text())
    skills = read["skills"] if isinstance(read["skills"], list) else [read["skills"]]

    assert read["name"] == NAME
    assert f'version: "{read["version"]}"' in (unpacked / "SKILL.md").read_text()
    assert skills == ["./"]  # root folder layout: the plugin's root is the skill
    assert read["license"] == "Apache-2.0"


@pytest.mark.cpu
def test_the_marketplace_lists_the_root_as_one_plugin(unpacked):
    read = json.loads((unpacked / ".claude-plugin/marketplace.json").read_text())

    assert {"name", "owner", "plugins"} <= read.keys()
    (plugin,) = read["plugins"]
    assert (plugin["name"], plugin["source"], plugin["skills"]) == (NAME, "./", ["./"])
    assert (unpacked / plugin["source"] / plugin["skills"][0] / "SKILL.md").is_file()


@pytest.mark.cpu
def test_codex_metadata_mentions_the_skill(unpacked):
    yaml = pytest.importorskip("yaml")
    interface = yaml.safe_load((unpacked / "agents/openai.yaml").read_text())["interface"]

    assert f"${NAME}" in interface["default_prompt"]
    assert {"display_name", "short_description", "default_prompt"} == set(interface)
