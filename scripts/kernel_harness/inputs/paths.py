"""Sizes of the paths that a file's code has and none of its cases takes (standard library only).

A file that compares something with 256, and shows sizes up to 201, does something else above. Which size the
comparison is about is not worked out: every size that the cases vary is tried, and what get_inputs, the reference or
the kernel refuses is no answer.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection
from itertools import pairwise

LEAST = 16  # smaller constants are mostly ranks, bytes of an element and the like
MOST = 1 << 20
NOT_THE_KERNEL = {"reference_fn", "get_inputs", "flops", "bytes_moved"}
_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow, ast.LShift: operator.lshift,
}  # fmt: skip


def constants(tree: ast.Module) -> list[int]:
    """The integers from LEAST to MOST with which the functions of a file compare what is no constant, min() and max()
    too: CTAs that are no more than so many take several tiles."""
    known: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _assign(target, node.value, known)
    found = set()
    for function in tree.body:
        if getattr(function, "name", "") in NOT_THE_KERNEL:
            continue
        for node in ast.walk(function):
            sides = ()
            if isinstance(node, ast.Compare):
                sides = (node.left, *node.comparators)
            elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("min", "max"):
                sides = node.args if len(node.args) > 1 else ()
            values = [_value(side, known) for side in sides]
            found |= {value for value in values if value is not None} if None in values else set()
    return sorted(value for value in found if LEAST <= value <= MOST)


def beyond(sizes: Collection[int], constants: Collection[int]) -> list[int]:
    """Sizes of the paths that ``sizes`` leave out, with the divisor of all of them and, where they all are, powers of
    two, from ``constants``, the smallest first, those between which no size lies. Before them the largest below the
    smallest constant if no size lies there, and they have nothing in common: others may have a least size."""
    known = sorted(set(sizes))
    if len(known) < 2 or known[0] < 1:
        return []
    edges, found = sorted(set(constants)), []
    if edges and known[0] >= edges[0] and math.gcd(*known) == 1:
        found.append(edges[0] - 1)
    for edge, after in pairwise([*edges, math.inf]):
        if not any(edge < size <= after for size in known) and edge > known[0]:
            found += [_fitting(edge, known), _fitting(edge + 1, known)]
    return [size for size in dict.fromkeys(found) if size not in known]


def _fitting(size: int, known: list[int]) -> int:
    """The smallest one from ``size`` on that has in common what the known ones have."""
    if all(n & (n - 1) == 0 for n in known):
        return 1 << (size - 1).bit_length()
    step = math.gcd(*known)
    return -(-size // step) * step


def _assign(target: ast.expr, value: ast.expr, known: dict[str, int]) -> None:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for name, part in zip(target.elts, value.elts, strict=True):
            _assign(name, part, known)
    elif isinstance(target, ast.Name) and (number := _value(value, known)) is not None:
        known[target.id] = number


def _value(node: ast.expr, known: dict[str, int]) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, known), _value(node.right, known)
        if left is None or right is None or (isinstance(node.op, (ast.Pow, ast.LShift)) and not 0 <= right < 64):
            return None
        return None if isinstance(node.op, ast.FloorDiv) and right == 0 else _OPERATORS[type(node.op)](left, right)
    return None
