"""What a file says of the inputs that it takes (standard library only)."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable

DTYPES = {"float32": "float32", "fp32": "float32", "float16": "float16", "fp16": "float16", "bfloat16": "bfloat16",
          "bf16": "bfloat16"}  # fmt: skip
NAME = rf"\b(?:{'|'.join(DTYPES)})\b"
CHOICE = re.compile(rf"{NAME}(?:(?:\s*,\s*or\s+|\s*[,/]\s*|\s+or\s+){NAME})+")
SPEAKERS = ("kernel_fn", "reference_fn", "get_inputs")
ANY_SIZE = re.compile(r"\b(any|arbitrary)\s+(\w+\s+)?(shape|size|length)s?\b", re.IGNORECASE)
ROUNDED_UP = re.compile(r"\bceil(_div)?\s?\(|\bceil[ _]mode\b|\brounded up\b|-\(-\w+ ?//", re.IGNORECASE)
ANY_NUMBER = re.compile(r"\b(any|arbitrary) (number|amount|count) of\b", re.IGNORECASE)
IN_32_BITS = re.compile(
    r"\b2\s?(?:\^|\*\*)\s?3[012]\b|\b2[,_]?147[,_]?483|\b32[- ]bit (?:offsets?|indices|index|indexing|counts?)\b",
    re.IGNORECASE)
MAY = r"\b(?:may|might|can)\s+(?:be|hold|contain|have|include)\b"
MINUS_INFINITY = r"(?<![\w.])(?:-\s?inf(?:inity)?|minus infinity|negative infinity)\b"
FORBIDDEN = re.compile(rf"{MAY}[^.;]*{MINUS_INFINITY}|{MINUS_INFINITY}[^.;]*{MAY}", re.IGNORECASE)
NOTHING = re.compile(
    r"\b(zero|0) included\b|\bincluding (zero|0|none|empty)\b|\b(may|can) (also )?be (zero|0|empty)\b", re.IGNORECASE)
FROM_THE_END = re.compile(
    r"\bnegative (\w+ )?(count|index|wrap|are counted)\w*\b[^.;]*\bfrom the (end|back)\b", re.IGNORECASE)
REPEATS = re.compile(
    r"\b(may|can) (repeat|come (twice|several times|more than once)|be (repeated|equal|duplicates?|the same))\b|"
    r"\brepeated or not\b|\bduplicates (are|may|count)\b|\bcomes? several times\b", re.IGNORECASE)
ANY_VALUE = re.compile(r"\bany (int\d*|integers?|values?)\b", re.IGNORECASE)
TAKES_NAN = re.compile(
    rf"{MAY}[^.;]*\bNaNs?\b|\bNaNs?\b[^.;]*(\b(propagates?|passes through|stays?|comes? (back|out|through))\b|{MAY})")
ANY_STRIDES = re.compile(r"\b(any|arbitrary) (strides?|layout)\b|\b(may|can) be non-?contiguous\b", re.IGNORECASE)
ANY_ROWS = re.compile(
    r"\b(any|arbitrary) (strides?|layout|row strides?|stride (of|between) rows)\b|\brows? at any (distance|stride)\b|"
    r"\brows any distance apart\b|\b(may|can) be non-?contiguous\b", re.IGNORECASE)
ANY_ADDRESS = re.compile(
    r"\b(any|arbitrary) (alignment|address|addresses|storage offset)\b|\b(un|mis)aligned\b", re.IGNORECASE)
NUMBER = r"(-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)(?:\s?(?:\^|\*\*)\s?(\d+))?(\s?-\s?1\b)?"
REFUSES = re.compile(
    r"\b(no|not|never|without|raises?|errors?|\w+Error|refuse[sd]?|reject(s|ed)?|except|but|must)\b", re.IGNORECASE)
BELOW_ZERO = re.compile(r"(?<!non-)\bnegative\b", re.IGNORECASE)
ANY_NUMBERS = re.compile(r"\bany (real |finite |float )?(numbers|values|reals|floats)\b", re.IGNORECASE)
LIMITED = re.compile(r"\b(multiples?|powers?|divi\w+|up to|at most|below|less|odd|even|from|no more|not)\b|<")
OF_RESULTS = re.compile(r"\b(returns?|results?|outputs?|gives?|lse|no|not|never|without|raises?|but)\b", re.IGNORECASE)
BUT = re.compile(r"\b(multiples?|divisible|divides|powers? of|aligned|even)\b", re.IGNORECASE)


def takes_any_size(tree: ast.Module) -> bool:
    """Do the docstrings say so, of the file or of what it exports, and nothing of divisors?"""
    return bool(ANY_SIZE.search(_said(tree))) and not BUT.search(_said(tree))


def takes_remainders(tree: ast.Module) -> bool:
    """Do they say so of any size, or round a quotient up, as of windows or blocks, and nothing of divisors?"""
    said = _said(tree)
    return any(one.search(said) for one in (ANY_SIZE, ROUNDED_UP)) and not BUT.search(said)


def takes_any_number(tree: ast.Module) -> bool:
    """Does one say so of elements, rows, pages?"""
    return _says(tree, ANY_NUMBER)


def counts_in_32_bits(tree: ast.Module) -> bool:
    """Do they name the end of 32 bits?"""
    return bool(IN_32_BITS.search(_said(tree)))


def takes_minus_infinity(tree: ast.Module) -> bool:
    """Does a sentence of the docstrings say that inputs may hold it, and nothing of results or of what may not be?"""
    return any(FORBIDDEN.search(text) and not OF_RESULTS.search(text) for text in _sentences(tree))


def takes_nothing(tree: ast.Module) -> bool:
    """Does one say that a size may be zero?"""
    return any((found := NOTHING.search(text)) and not REFUSES.search(text[: found.end()]) for text in _sentences(tree))


def takes_any_value(tree: ast.Module) -> bool:
    """Does one say so of integers, or of values?"""
    return _says(tree, ANY_VALUE)


def takes_repeats(tree: ast.Module) -> bool:
    """Does one say that indices, labels or keys may come several times?"""
    return any(REPEATS.search(text) for text in _sentences(tree))


def takes_nan(tree: ast.Module) -> bool:
    """Does one say that inputs may hold it, or that it comes out where it went in?"""
    return _says(tree, TAKES_NAN)


def takes_any_strides(tree: ast.Module) -> bool:
    """Does one say so of all dimensions?"""
    return _says(tree, ANY_STRIDES)


def takes_any_rows(tree: ast.Module) -> bool:
    """Does one say that rows may lie at any distance from each other?"""
    return _says(tree, ANY_ROWS)


def takes_any_address(tree: ast.Module) -> bool:
    """Does one say that tensors may begin anywhere?"""
    return _says(tree, ANY_ADDRESS)


def counts_from_the_end(tree: ast.Module) -> bool:
    """Does one say that negative indices do?"""
    return _says(tree, FROM_THE_END)


def any_numbers(tree: ast.Module) -> set[int]:
    """Positions of kernel_fn's parameters of which the sentence that names them says that they hold any."""
    return _named_with(tree, ANY_NUMBERS)


def below_zero(tree: ast.Module) -> set[int]:
    """Positions of those of which the sentence says that they hold any values, and what a negative one does."""
    return _named_with(tree, ANY_NUMBERS) & _named_with(tree, BELOW_ZERO)


def parameters(tree: ast.Module) -> list[str]:
    """Names of kernel_fn's parameters that are passed by position."""
    found = [node.args for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "kernel_fn"]
    return [one.arg for one in (*found[-1].posonlyargs, *found[-1].args)] if found else []


def ranges(tree: ast.Module, names: Iterable[str]) -> dict[str, tuple[float, float]]:
    """The first and last number that each of the parameters may be, as in "d: an integer from 1 to 2^31 - 1"; infinity
    where it is said to be any positive integer."""
    found = {}
    for name in names:
        said = rf"(?<![\w.]){re.escape(name)}(?: \([^)]*\))?(?:,|:| is)? (?:an?y? )?positive (?:int|integer)\b([^.;]*)"
        if (match := re.search(said, " ".join(_said(tree).split()))) and not LIMITED.search(match[1]):
            found[name] = 1, math.inf
        said = rf"(?<![\w.]){re.escape(name)}(?: \([^)]*\))?:? (?:[^.;:]{{0,40}}? )??from {NUMBER} to {NUMBER}"
        if match := re.search(said, " ".join(_said(tree).split())):
            parts = match.groups()
            found[name] = _number(*parts[:3]), _number(*parts[3:])
    return {name: (low, high) for name, (low, high) in found.items() if low < high}


def _number(base: str, power: str | None, is_less: str | None) -> float:
    number = float(base) if "." in base or "e" in base else int(base)
    return (number ** min(int(power), 64) if power else number) - (1 if is_less else 0)


def _named_with(tree: ast.Module, what: re.Pattern) -> set[int]:
    """Positions of kernel_fn's parameters that a sentence names in which ``what`` is found and nothing is refused."""
    sentences = re.split(r"[.;]\s", " ".join(_said(tree).split()))  # a colon may stand behind the name
    said = [text for text in sentences if what.search(text) and not REFUSES.search(text)]
    named = enumerate(parameters(tree))
    return {i for i, name in named if any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text) for text in said)}


def _says(tree: ast.Module, what: re.Pattern) -> bool:
    return any(what.search(text) and not REFUSES.search(text) for text in _sentences(tree))


def dtypes(tree: ast.Module) -> list[str]:
    """Names in torch of those between which docstrings leave a choice, as in "x float32, float16 or bfloat16"."""
    named = (name for choice in CHOICE.findall(_said(tree)) for name in re.findall(NAME, choice))
    return list(dict.fromkeys(DTYPES[name] for name in named))


def _sentences(tree: ast.Module) -> list[str]:
    return re.split(r"[.;:]\s", " ".join(_said(tree).split()))


def _said(tree: ast.Module) -> str:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in SPEAKERS]
    return " ".join(ast.get_docstring(node) or "" for node in (tree, *functions))
