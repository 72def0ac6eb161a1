"""What reference_fn says in so many words: which numbers it sets apart, whether an index may come twice, with which
integers it only computes, what it calls its inputs, and which options it shares with kernel_fn (standard library
only)."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

MISSING = object()
ADDING = ("index_add", "scatter_add", "bincount")


def reference_of(tree: ast.Module) -> ast.FunctionDef | None:
    return _function(tree, "reference_fn")


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    return next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name), None)


def named(tree: ast.Module, word: str) -> set[int]:
    """The positions of reference_fn's parameters with ``word`` in their names."""
    return {index for index, (name, _) in enumerate(_defaults(reference_of(tree))) if word in name.lower()}


def shared_options(tree: ast.Module, kernel_tree: ast.Module, given: int) -> list[object]:
    """Defaults of the parameters behind the first ``given``, one after the other, that reference_fn and kernel_fn have
    alike, as far as they are constants."""
    found = []
    both = _defaults(reference_of(tree)), _defaults(_function(kernel_tree, "kernel_fn"))
    for one, other in zip(*both, strict=False):
        if len(found) < given:
            found.append(None)
        elif one == other and one[1] is not MISSING:
            found.append(one[1])
        else:
            break
    return found[given:]


def _defaults(function: ast.FunctionDef | None) -> list[tuple[str, object]]:
    """(name, default) of the positional parameters; MISSING where there is none, or it is no constant."""
    if function is None:
        return []
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    nodes = [None] * (len(names) - len(function.args.defaults)) + function.args.defaults
    return [(name, node.value if isinstance(node, ast.Constant) else MISSING)
            for name, node in zip(names, nodes, strict=True)]


def asks_whether_zero(tree: ast.Module) -> set[int]:
    """The positions of the parameters of which reference_fn somewhere asks whether they are zero. If it asks no more,
    any other number is as true as one, and its answer the same."""
    function = reference_of(tree)
    names = [name for name, _ in _defaults(function)]
    asked = {node.id for node in map(_asked, ast.walk(function) if function else ()) if isinstance(node, ast.Name)}
    return {index for index, name in enumerate(names) if name in asked}


def _asked(node: ast.AST) -> ast.expr | None:
    """x of ``x != 0``, ``x == 0``, ``x.bool()``, ``x.ne(0)`` and ``x.to(torch.bool)``."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return node.left if _number(node.comparators[0]) == 0 else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        given, name = node.args, node.func.attr
        is_bool = name == "to" and len(given) == 1 and ast.unparse(given[0]).endswith("bool")
        if is_bool or name == "bool" or (name in ("ne", "eq") and given and _number(given[0]) == 0):
            return node.func.value
    return None


def only_rounded(tree: ast.Module) -> set[int]:
    """The positions of the parameters that reference_fn turns into floating point wherever it uses them, but for a
    check that raises: integers that it only computes with, which are neither indices nor compared with any."""
    function = reference_of(tree)
    if function is None:
        return set()
    branches = [node for node in ast.walk(function) if isinstance(node, ast.If)]
    checked = {name for branch in branches if isinstance(branch.body[-1], ast.Raise) for name in ast.walk(branch.test)}
    rounded = {_origin(node) for node in map(_floated, ast.walk(function)) if node is not None}
    found = set()
    for index, (name, _) in enumerate(_defaults(function)):
        uses = {node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name} - checked
        if uses and uses <= rounded:
            found.add(index)
    return found


def _floated(node: ast.AST) -> ast.expr | None:
    """x of ``x.float()``, ``x.double()`` and ``x.to(dtype)``, where that names no integers and no device."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    given, name = node.args, node.func.attr
    is_floating = name == "to" and len(given) == 1 and not re.search("int|long|bool|device|cuda", ast.unparse(given[0]))
    return node.func.value if is_floating or name in ("float", "double") else None


def _origin(node: ast.expr) -> ast.expr:
    """x of ``x[:, None]``, ``x.reshape(...)`` and the like."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        node = node.value if isinstance(node, ast.Subscript) else node.func.value
    return node


def takes_repeats(tree: ast.Module) -> bool:
    """Does reference_fn add up what has the same index, or mark it, so that an index that comes twice has a meaning?"""
    calls = [node for node in ast.walk(reference_of(tree) or ast.Module([], [])) if isinstance(node, ast.Call)]
    named = [(call.func.attr.rstrip("_"), call) for call in calls if isinstance(call.func, ast.Attribute)]
    return any(name in ADDING or (name in ("scatter", "index_fill") and _is_constant(call)) for name, call in named)


def _is_constant(call: ast.Call) -> bool:
    given = [*call.args[-1:], *(keyword.value for keyword in call.keywords if keyword.arg == "value")]
    return any(isinstance(node, ast.Constant) for node in given)


def special_values(tree: ast.Module, arguments: Sequence[int | None] = ()) -> list[tuple[int, set[int] | None]]:
    """[(value, inputs in which it may be)]: what reference_fn sets apart in so many words, as it compares with it or
    asks to ignore it. A negative number may be in any (None), another, which elsewhere is one like all, in those beside
    it. What is compared with zero for its sign has -1, a slot that holds nothing, say. That cross_entropy ignores -100
    unasked is no promise of a file whose labels are classes.
    arguments: the inputs, in place of each that is no number None; the reference may call such a number by name."""
    function = reference_of(tree)
    if function is None:
        return []
    constants = {
        target.id: _number(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    parameters = [parameter.arg for parameter in function.args.args]
    constants |= zip(parameters, arguments, strict=False)
    found = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and all(isinstance(op, (ast.Eq, ast.NotEq)) for op in node.ops):
            numbers = [side for side in (node.left, *node.comparators) if isinstance(side, ast.Name) or _number(side)]
        elif isinstance(node, ast.Call):
            numbers = [keyword.value for keyword in node.keywords if keyword.arg in ("ignore_index", "padding_idx")]
        elif (name := _told_by_sign(node)) in parameters:
            if found.setdefault(-1, set()) is not None:
                found[-1].add(parameters.index(name))
            continue
        else:
            continue
        beside = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        inputs = {i for i, name in enumerate(parameters) if name in beside}
        for number in numbers:
            value = _number(number, constants)
            if value is not None and value < 0:
                found[value] = None
            elif value is not None and (isinstance(node, ast.Call) or isinstance(number, ast.Name)):
                found[value] = found.get(value, set()) | inputs
    return list(found.items())


def _told_by_sign(node: ast.AST) -> str:
    """x of ``x >= 0``, ``x < 0``, ``x > -1`` and ``x <= -1``, or nothing."""
    if not isinstance(node, ast.Compare) or len(node.ops) > 1 or not isinstance(node.left, ast.Name):
        return ""
    least = {ast.GtE: 0, ast.Lt: 0, ast.Gt: -1, ast.LtE: -1}.get(type(node.ops[0]))
    return node.left.id if least is not None and _number(node.comparators[0]) == least else ""


def _number(node: ast.expr, names: dict | None = None) -> int | None:
    if isinstance(node, ast.Name):
        return (names or {}).get(node.id)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if type(value) is int else None
