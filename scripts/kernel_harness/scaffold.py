"""A new kernel file from a template or an example (standard library only)."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

from .api import own_examples
from .cli import UsageError, command, scripts_folder
from .contract import REQUIRED

ROOT = Path(__file__).resolve().parents[2]  # the skill's folder
FOLDERS = ("templates", "examples")


def sources() -> dict[str, Path]:
    """``{name: file}`` of every kernel file in templates/ and examples/, named by its path there without suffix."""
    return {
        path.relative_to(ROOT / folder).with_suffix("").as_posix(): path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if set(REQUIRED) <= _defines(path)
    }


def _defines(path: Path) -> set[str]:
    """The names that a file binds at its top level."""
    names = set()
    for node in own_examples.parsed(path.read_text(encoding="utf-8")).body:
        names |= {node.name} if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else set()
        if isinstance(node, ast.Assign):
            names |= {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return names


def summary(path: Path) -> str:
    """The first line of a file's docstring."""
    return (ast.get_docstring(own_examples.parsed(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def find(name: str) -> Path:
    """The template or example called ``name``: its listed name, or its path with or without the suffix."""
    known = sources()
    plain = name.removesuffix(".py")
    for folder in FOLDERS:
        plain = plain.removeprefix(f"{folder}/")
    if plain in known:
        return known[plain]
    if Path(name).resolve() in known.values():
        return Path(name).resolve()
    near = difflib.get_close_matches(plain, known, 1, 0.4)
    offer = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(f"--from {name}: there is no such template or example{offer} (--list shows all)")


def target(name: str) -> Path:
    """Where ``name`` goes: a name or path, with or without .py, that exists nowhere yet and can be imported."""
    path = Path(name if name.endswith(".py") else f"{name}.py")
    if not path.stem.isidentifier():
        raise UsageError(f"{path.name} is no module name: use letters, digits and underscores, for example my_kernel")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; create it first")
    try:
        is_there = path.exists() or path.is_symlink()
    except OSError as error:  # a name that is too long, for one
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    if is_there:
        raise UsageError(f"{path} exists; choose another name, or remove it first")
    return path


def adapt(text: str, source: Path, new: Path) -> str:
    """``text`` of ``source`` as the text of ``new``: the docstring's commands name the new file and the scripts where
    they are found from the current folder, and it claims no measurement. The code is untouched.
    """
    end = ast.parse(text).body[0].end_lineno
    lines = text.splitlines(keepends=True)
    head, code = lines[:end], lines[end:]
    original = source.relative_to(ROOT).as_posix()
    scripts, kept, dropping = f"python {scripts_folder()}/", [], False
    for line in head:
        dropping = line.startswith("Measured ") or (dropping and line.startswith(" "))
        if not dropping:
            kept.append(line.replace(original, new.as_posix()).replace("python scripts/", scripts))
    body, _, _ = "".join(kept).rpartition('"""')
    origin = f"Copied from {original}, whose measurements say nothing about this file."
    return "".join((body.rstrip(), "\n\n", origin, '\n"""\n', *code))


def create(name: str, template: str) -> tuple[Path, Path]:
    """Write the copy; ``(new file, its source)``. UsageError for an unknown template or a name that is taken."""
    source, new = find(template), target(name)
    text = adapt(source.read_text(encoding="utf-8"), source, new)
    try:
        with open(new, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{new} exists; choose another name, or remove it first") from None
    except OSError as error:
        raise UsageError(f"{new} cannot be written: {error.strerror}") from None
    return new, source


def verify_command(new: Path) -> str:
    """The command line that verifies ``new`` from the current folder."""
    return command("verify_kernel.py", new)
