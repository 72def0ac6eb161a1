"""What a file says of the inputs that it takes (standard library only)."""

from __future__ import annotations

import ast
import re

DTYPES = {"float32": "float32", "fp32": "float32", "float16": "float16", "fp16": "float16", "bfloat16": "bfloat16",
          "bf16": "bfloat16"}  # fmt: skip
NAME = rf"\b(?:{'|'.join(DTYPES)})\b"
CHOICE = re.compile(rf"{NAME}(?:(?:\s*,\s*or\s+|\s*[,/]\s*|\s+or\s+){NAME})+")
SPEAKERS = ("kernel_fn", "reference_fn", "get_inputs")
ANY_SIZE = re.compile(r"\b(any|arbitrary)\s+(\w+\s+)?(shape|size|length)s?\b", re.IGNORECASE)
MAY = r"\b(?:may|might|can)\s+(?:be|hold|contain|have|include)\b"
MINUS_INFINITY = r"(?<![\w.])(?:-\s?inf(?:inity)?|minus infinity|negative infinity)\b"
FORBIDDEN = re.compile(rf"{MAY}[^.;]*{MINUS_INFINITY}|{MINUS_INFINITY}[^.;]*{MAY}", re.IGNORECASE)
OF_RESULTS = re.compile(r"\b(returns?|results?|outputs?|gives?|lse|no|not|never|without|raises?|but)\b", re.IGNORECASE)
BUT = re.compile(r"\b(multiples?|divisible|divides|powers? of|aligned|even)\b", re.IGNORECASE)


def takes_any_size(tree: ast.Module) -> bool:
    """Do the docstrings say so, of the file or of what it exports, and nothing of divisors?"""
    return bool(ANY_SIZE.search(_said(tree))) and not BUT.search(_said(tree))


def takes_minus_infinity(tree: ast.Module) -> bool:
    """Does a sentence of the docstrings say that inputs may hold it, and nothing of results or of what may not be?"""
    sentences = re.split(r"[.;]\s", _said(tree).replace("\n", " "))
    return any(FORBIDDEN.search(text) and not OF_RESULTS.search(text) for text in sentences)


def dtypes(tree: ast.Module) -> list[str]:
    """Names in torch of those between which docstrings leave a choice, as in "x float32, float16 or bfloat16"."""
    named = (name for choice in CHOICE.findall(_said(tree)) for name in re.findall(NAME, choice))
    return list(dict.fromkeys(DTYPES[name] for name in named))


def _said(tree: ast.Module) -> str:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in SPEAKERS]
    return " ".join(ast.get_docstring(node) or "" for node in (tree, *functions))
