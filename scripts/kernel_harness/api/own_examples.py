"""This project's own templates and examples, by the words of their docstrings."""

import ast
import re
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def find(words: Sequence[str]) -> list[tuple[str, str]]:
    """(path, first line of the docstring) of the files whose path or docstring has all ``words``, each whole."""
    found = []
    for path in sorted([*ROOT.glob("templates/*.py"), *ROOT.glob("examples/**/*.py")]):
        doc, name = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "", str(path.relative_to(ROOT))
        if words and all(re.search(rf"\b{re.escape(word)}\b", f"{name} {doc}", re.IGNORECASE) for word in words):
            found.append((name, doc.partition("\n")[0]))
    return found
