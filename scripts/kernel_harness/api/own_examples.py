"""This project's own templates, examples and pages, by the words of their docstrings and headings."""

import ast
import re
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def find(words: Sequence[str]) -> list[tuple[str, str]]:
    """(path, first line of what it says of itself) of the files whose path and docstring, or title and one heading,
    have all ``words``, each whole."""
    has_all = lambda text: all(re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text, re.I) for word in words)
    found = []
    for path in sorted([*ROOT.glob("templates/*.py"), *ROOT.glob("examples/**/*.py"), *ROOT.glob("references/*.md")]):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        if path.suffix == ".md":
            title = text.partition("\n")[0].lstrip("# ")
            told = [title, *(f"{title}: {heading}" for heading in re.findall(r"^## (.+)$", text, re.MULTILINE))]
        else:
            told = [ast.get_docstring(parsed(text)) or ""]
        found += [(name, what.partition("\n")[0]) for what in told if words and has_all(f"{name} {what}")][:1]
    return found


def parsed(text: str) -> ast.Module:
    """Empty for what is no Python at the moment: somebody edits it."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])
