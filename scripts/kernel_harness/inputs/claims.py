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
NOTHING = re.compile(
    r"\b(zero|0) included\b|\bincluding (zero|0|none|empty)\b|\b(may|can) (also )?be (zero|0|empty)\b", re.IGNORECASE)
FROM_THE_END = re.compile(
    r"\bnegative (\w+ )?(count|index|wrap|are counted)\w*\b[^.;]*\bfrom the (end|back)\b", re.IGNORECASE)
ANY_VALUE = re.compile(r"\bany (int\d*|integers?|values?)\b", re.IGNORECASE)
REFUSES = re.compile(r"\b(no|not|never|without|raises?|ValueError|refused|except|but)\b")
OF_RESULTS = re.compile(r"\b(returns?|results?|outputs?|gives?|lse|no|not|never|without|raises?|but)\b", re.IGNORECASE)
BUT = re.compile(r"\b(multiples?|divisible|divides|powers? of|aligned|even)\b", re.IGNORECASE)


def takes_any_size(tree: ast.Module) -> bool:
    """Do the docstrings say so, of the file or of what it exports, and nothing of divisors?"""
    return bool(ANY_SIZE.search(_said(tree))) and not BUT.search(_said(tree))


def takes_minus_infinity(tree: ast.Module) -> bool:
    """Does a sentence of the docstrings say that inputs may hold it, and nothing of results or of what may not be?"""
    return any(FORBIDDEN.search(text) and not OF_RESULTS.search(text) for text in _sentences(tree))


def takes_nothing(tree: ast.Module) -> bool:
    """Does one say that a size may be zero?"""
    return any((found := NOTHING.search(text)) and not REFUSES.search(text[: found.end()]) for text in _sentences(tree))


def takes_any_value(tree: ast.Module) -> bool:
    """Does one say so of integers, or of values?"""
    return any(ANY_VALUE.search(text) and not REFUSES.search(text) for text in _sentences(tree))


def counts_from_the_end(tree: ast.Module) -> bool:
    """Does one say that negative indices do?"""
    return any(FROM_THE_END.search(text) and not REFUSES.search(text) for text in _sentences(tree))


def dtypes(tree: ast.Module) -> list[str]:
    """Names in torch of those between which docstrings leave a choice, as in "x float32, float16 or bfloat16"."""
    named = (name for choice in CHOICE.findall(_said(tree)) for name in re.findall(NAME, choice))
    return list(dict.fromkeys(DTYPES[name] for name in named))


def _sentences(tree: ast.Module) -> list[str]:
    return re.split(r"[.;:]\s", " ".join(_said(tree).split()))


def _said(tree: ast.Module) -> str:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in SPEAKERS]
    return " ".join(ast.get_docstring(node) or "" for node in (tree, *functions))
