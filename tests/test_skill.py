"""SKILL.md keeps to the Agent Skills specification, and what it and the README name is there and runs.

The specification's validator is skills-ref; the packaging check of anthropics/skills (quick_validate.py) also forbids
angle brackets in the description.
"""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
NAME = "cute-dsl-kernels"
DOCUMENTS = [name for name in ("SKILL.md", "README.md", "AGENTS.md") if (ROOT / name).exists()]
FOLDERS = ("scripts", "templates", "examples", "references", "evals", "results", "tests")
PATH = re.compile(rf"(?<![\w/.-])(?:{'|'.join(FOLDERS)})/[\w*./-]*[\w/*]")
COMMAND = re.compile(r"\bpython3? ((?:scripts|evals|tests)/[\w/]+\.py)([^`\n#]*)")
pytestmark = pytest.mark.cpu


def errors_in(folder: Path) -> list[str]:
    """What the validators say of the skill in ``folder``; empty when it is valid."""
    skills_ref = pytest.importorskip("skills_ref", reason="skills-ref needs Python 3.11")
    found = list(skills_ref.validate(folder))
    if found:
        return found
    fields = yaml.safe_load((folder / "SKILL.md").read_text(encoding="utf-8").split("---\n")[1])
    if any(mark in fields["description"] for mark in "<>"):
        found.append("description has an angle bracket")
    if not all(isinstance(value, str) for value in fields.get("metadata", {}).values()):
        found.append("metadata maps strings to strings: quote the version")
    return found


@cache
def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def skill_in(tmp_path: Path, text: str, folder: str = NAME) -> Path:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "SKILL.md").write_text(text, encoding="utf-8")
    return tmp_path / folder


def test_the_skill_is_valid_in_a_folder_of_its_name(tmp_path):
    assert errors_in(skill_in(tmp_path, text_of("SKILL.md"))) == []


@pytest.mark.parametrize(("old", "new", "word"), [
    ("---\nname:", "name:", "frontmatter"),
    ("license:", "version: 1\nlicense:", "Unexpected fields"),
    (f"name: {NAME}", "name: Cute_DSL", "must be lowercase"),
    (f"name: {NAME}", "name: other", "must match skill name"),
    ("Write, verify", "Write <b>, verify", "angle bracket"),
    ("Write, verify", "x" * 1024, "exceeds 1024"),
    ('version: "', 'build: 1\n  version: "', "quote the version"),
    ("license: Apache-2.0", "license: [a, b]", "Invalid YAML"),
])  # fmt: skip
def test_each_rule_has_teeth(old, new, word, tmp_path):
    text = text_of("SKILL.md")
    assert old in text

    assert any(word in error for error in errors_in(skill_in(tmp_path, text.replace(old, new, 1))))


def test_the_skill_fits_into_an_agents_context():
    text = text_of("SKILL.md")

    assert len(text.splitlines()) <= 250
    assert len(text) / 3.6 <= 5000  # tokens; tokenizers give 3.6 characters or more to a token of such text


def test_the_skill_says_its_version_as_the_project_does():
    version = re.search(r'^  version: "(.+)"', text_of("SKILL.md"), re.MULTILINE)[1]

    assert f'version = "{version}"' in text_of("pyproject.toml")
    assert version in text_of("CHANGELOG.md")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_that_is_named_exists(document):
    named = set(PATH.findall(text_of(document))) | set(re.findall(r"\]\(((?!https?:|#)[^)#\s]+)", text_of(document)))

    missing = [path for path in sorted(named) if not list(ROOT.glob(path))]
    assert named
    assert not missing


def commands() -> dict[str, set[str]]:
    """``{script: options that the documents pass to it}``."""
    found = {}
    for document in DOCUMENTS:
        for script, rest in COMMAND.findall(text_of(document)):
            found.setdefault(script, set()).update(re.findall(r"(?<!\S)(--[\w-]+)", rest))
    return found


SCRIPTS = {f"scripts/{path.name}" for path in (ROOT / "scripts").glob("*.py")}


@pytest.mark.parametrize("script", sorted(SCRIPTS | set(commands())))
def test_every_script_answers_help_with_the_standard_library_alone(script, tmp_path):
    flags = ("-S",) if script.startswith("scripts/") else ()  # -S: nothing that is installed can help
    command = [sys.executable, *flags, str(ROOT / script), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    unknown = [option for option in commands().get(script, ()) if option not in done.stdout]
    assert not unknown


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    named = {word for document in DOCUMENTS for word in re.findall(r"`make ([a-z-]+)`", text_of(document))}

    assert named <= targets
