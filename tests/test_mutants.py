"""What tests/mutants.py changes: one thing in the kernel's own code, and nothing that the reference runs."""

import ast

import mutants
import pytest

pytestmark = pytest.mark.cpu
SOURCE = '''
import torch

LIMIT = 3


def shared(x):
    return x + 1


def own(x, n):
    if n > LIMIT:
        x = x * n
    return x - 1


def kernel_fn(x, n):
    return own(shared(x), n)


def reference_fn(x, n):
    return shared(x) * (n if n > LIMIT else 1) - 1


def get_inputs(n=5):
    return [torch.arange(8.0), n]
'''


def test_only_the_kernels_own_code_is_changed():
    kept = [node.name for node in mutants.kernel_code(ast.parse(SOURCE))]

    def others(text):
        return [ast.dump(node) for node in ast.parse(text).body if getattr(node, "name", "") not in kept]

    assert kept == ["kernel_fn", "own"]
    for text, _ in mutants.mutants(SOURCE, 50, seed=0):
        assert others(text) == others(SOURCE)


def test_mutants_differ_from_the_file_and_from_one_another_and_repeat():
    found = mutants.mutants(SOURCE, 50, seed=1)

    texts = {text for text, _ in found}
    assert len(texts) == len(found) > 5
    assert ast.unparse(ast.parse(SOURCE)) not in texts
    assert found[:3] == mutants.mutants(SOURCE, 3, seed=1)
    assert any(what.startswith("comparison: -    if n > LIMIT: +    if n >= LIMIT:") for _, what in found)


def test_a_mutant_that_any_comparison_finds_is_left_out(tmp_path):
    path = tmp_path / "kernel.py"

    wrong = mutants.judge(path, SOURCE.replace("return x - 1", "return x + 1"), "", "quick")
    silent = mutants.judge(path, SOURCE.replace("n > LIMIT:\n", "n > LIMIT + 1:\n"), "", "quick")

    assert "verdict" not in wrong
    assert "not close" in wrong["plain"] or "difference" in wrong["plain"]
    assert (silent["plain"], silent["verdict"]) == ("passes", "PASS")
