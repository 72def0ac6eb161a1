"""This project's own templates, examples and pages, by the words of their docstrings and headings."""

import ast
import re
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def find(words: Sequence[str]) -> list[tuple[str, str]]:
    """(path, first line of what it says of itself) of the files whose path, docstring or first heading has all
    ``words``, each whole."""
    found = []
    for path in sorted([*ROOT.glob("templates/*.py"), *ROOT.glob("examples/**/*.py"), *ROOT.glob("references/*.md")]):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        is_page = path.suffix == ".md"
        doc = text.partition("\n")[0].lstrip("# ") if is_page else ast.get_docstring(parsed(text)) or ""
        if words and all(re.search(rf"\b{re.escape(word)}\b", f"{name} {doc}", re.IGNORECASE) for word in words):
            found.append((name, doc.partition("\n")[0]))
    return found


def parsed(text: str) -> ast.Module:
    """Empty for what is no Python at the moment: somebody edits it."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])
