#!/usr/bin/env python3
"""Change one thing in kernels that are right, and see whether verify_kernel.py notices.

  python tests/mutants.py templates/reduction.py examples/topk.py --each 10 -o mutants.json
  python tests/mutants.py tests/kernels/honest/*.py -j 2

A mutant has one operator, constant, condition, argument or statement changed, in code that kernel_fn reaches and not
reference_fn or get_inputs. Those that fail a plain comparison with the reference on the file's own cases are
anybody's to find and are left out; the others get verify_kernel.py. One that passes is equivalent to the original, or
a miss: reading it tells which. Without a GPU, kernels written for one run in the simulator.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import copy
import difflib
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from kernel_harness import environment
from kernel_harness.verdict import ExitCode

PLAIN_SECONDS = 240
OPERATORS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "fmin": "fmax", "fmax": "fmin",
    "Float32": "BFloat16", "float32": "bfloat16", "Int64": "Int32", "int64": "int32", "Uint32": "Int32",
    "ceil_div": "floordiv", "zeros": "empty", "zeros_like": "empty_like", "new_zeros": "new_empty", "any": "all",
    "all": "any", "argmax": "argmin", "floor": "round", "round": "trunc",
}  # fmt: skip


def sites(function: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Each node of a function that can be changed, and how."""
    for node in ast.walk(function):
        match node:
            case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op) in OPERATORS:
                yield node, "operator"
            case ast.Compare(ops=[op]) if type(op) in OPERATORS:
                yield node, "comparison"
            case ast.Constant(value=bool()):
                yield node, "flag"
            case ast.Constant(value=int() | float()):
                yield node, "constant"
            case ast.If() | ast.IfExp() | ast.While():
                yield node, "condition negated"
                yield node, "condition always true"
            case ast.UnaryOp(op=ast.USub()):
                yield node, "sign dropped"
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMES:
                yield node, "name"
            case ast.Expr(value=ast.Call()):
                yield node, "statement dropped"
            case ast.Call(keywords=[_, *_]):
                yield node, "keyword dropped"
            case ast.Call(args=[_, _]):
                yield node, "arguments swapped"


def apply(node: ast.AST, how: str) -> None:
    match how:
        case "operator":
            node.op = OPERATORS[type(node.op)]()
        case "comparison":
            node.ops = [OPERATORS[type(node.ops[0])]()]
        case "flag":
            node.value = not node.value
        case "constant":
            node.value += 1
        case "condition negated":
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case "condition always true":
            node.test = ast.Constant(True)
        case "sign dropped":
            node.op = ast.UAdd()
        case "name":
            field = "id" if isinstance(node, ast.Name) else "attr"
            setattr(node, field, NAMES[getattr(node, field)])
        case "statement dropped":
            node.value = ast.Constant(None)
        case "keyword dropped":
            node.keywords.pop()
        case "arguments swapped":
            node.args.reverse()


def kernel_code(tree: ast.Module) -> list[ast.AST]:
    """Functions and classes that kernel_fn reaches by name, and neither reference_fn nor get_inputs does."""
    defined = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }

    def reached(*roots: str) -> set[str]:
        found, todo = set(), [name for name in roots if name in defined]
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += [n.id for n in ast.walk(defined[name]) if isinstance(n, ast.Name) and n.id in defined]
        return found

    return [defined[name] for name in sorted(reached("kernel_fn") - reached("reference_fn", "get_inputs"))]


def mutants(source: str, wanted: int, seed: int) -> list[tuple[str, str]]:
    """Up to ``wanted`` changed sources with a description each, drawn with ``seed``."""
    tree = ast.parse(source)
    plain = ast.unparse(tree)
    count = sum(1 for function in kernel_code(tree) for _ in sites(function))
    found = {}
    for index in random.Random(seed).sample(range(count), count):
        if len(found) == wanted:
            break
        changed = copy.deepcopy(tree)
        node, how = [site for function in kernel_code(changed) for site in sites(function)][index]
        apply(node, how)
        text = ast.unparse(ast.fix_missing_locations(changed))
        if text != plain and text not in found:
            lines = difflib.unified_diff(plain.splitlines(), text.splitlines(), n=0, lineterm="")
            found[text] = f"{how}: " + " ".join(line for line in lines if line[:3] not in ("---", "+++", "@@ "))[:300]
    return [(text, what) for text, what in found.items()]


PLAIN = """
import contextlib, sys
import torch
from torch.utils._pytree import tree_leaves
sys.path.insert(0, sys.argv[2])
from kernel_harness.contract import load_kernel
from kernel_harness.simulator import driver
on_gpu = torch.cuda.is_available()
if not on_gpu:
    driver.prepare("sm_90a")
with contextlib.nullcontext() if on_gpu else driver.SimulatedDevice():
    kernel = load_kernel(sys.argv[1])
    for keywords in kernel.cases.values():
        torch.manual_seed(0)
        inputs = kernel.get_inputs(**keywords)
        expected = kernel.reference_fn(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
        for a, b in zip(tree_leaves(kernel.kernel_fn(*inputs)), tree_leaves(expected), strict=True):
            if isinstance(a, torch.Tensor):
                torch.testing.assert_close(a.double(), b.double(), rtol=2e-2, atol=2e-2, equal_nan=True)
            elif a != b:
                sys.exit(1)
"""


def judge(path: Path, text: str, what: str, level: str) -> dict:
    row = {"case": str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name), "mutant": what}
    with tempfile.TemporaryDirectory() as folder:
        copy_ = Path(folder, path.name)
        copy_.write_text(text)
        command = [sys.executable, "-c", PLAIN, str(copy_), str(ROOT / "scripts")]
        try:
            plain = subprocess.run(command, capture_output=True, text=True, timeout=PLAIN_SECONDS)
        except subprocess.TimeoutExpired:
            return row | {"plain": "TIMEOUT"}
        if plain.returncode:
            return row | {"plain": (plain.stderr.strip().splitlines() or ["exit"])[-1][:100]}
        command = [sys.executable, str(ROOT / "scripts/verify_kernel.py"), str(copy_), "--level", level]
        run = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, timeout=1200)
    row |= {"plain": "passes", "verdict": ExitCode(run.returncode).name}
    try:
        document = json.loads(run.stdout)
        row["reasons"] = [f"{r['check']}: {r['text']}".partition("\n")[0][:100] for r in document["reasons"]]
        row["notes"] = [note[:160] for note in document["notes"]]
    except (json.JSONDecodeError, KeyError):
        row["reasons"] = [run.stderr.strip()[-200:]]
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--each", type=int, default=5, help="mutants of each file (default 5)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--level", default="full")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    todo = []
    for path in (path.resolve() for path in options.files):
        todo += [(path, *mutant) for mutant in mutants(path.read_text(), options.each, options.seed)]
    random.Random(options.seed).shuffle(todo)  # a run that is cut short has seen some of each
    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(judge, *one, options.level) for one in todo]):
            rows.append(done.result())
            if rows[-1].get("verdict") == "PASS":
                print(f"PASS {rows[-1]['case']}: {rows[-1]['mutant']}", flush=True)
            if options.output:
                document = {"schema": 1, "topic": "mutants", "environment": environment.describe(), "cases": rows}
                options.output.write_text(json.dumps(document, indent=1) + "\n")
    silent = [row for row in rows if row["plain"] == "passes"]
    passed = sum(row["verdict"] == "PASS" for row in silent)
    print(f"{len(rows)} mutants, {len(silent)} pass a plain comparison, {passed} of these pass the verifier, too")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
