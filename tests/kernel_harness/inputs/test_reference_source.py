"""What reference_fn says of its inputs in its source."""

import ast

import pytest
from kernel_harness.inputs import reference_source

pytestmark = pytest.mark.cpu


def test_what_the_reference_compares_with_or_ignores_is_special():
    source = """
PAD = -7
def reference_fn(x, labels):
    kept = labels != PAD
    return F.cross_entropy(x.sum(-1), labels, ignore_index=-3)
def kernel_fn(x, labels):
    return labels == -9
"""
    assert dict(reference_source.special_values(ast.parse(source))) == {-7: None, -3: None}


def test_the_reference_may_set_apart_a_number_that_it_is_given():
    tree = ast.parse("""
def reference_fn(x, labels, ignored, padding, scale):
    keep = labels != padding
    return F.cross_entropy(x[keep], labels[keep], ignore_index=ignored) * scale
""")

    assert dict(reference_source.special_values(tree, [None, None, -100, -1, -3])) == {-100: None, -1: None}


def test_a_number_that_is_none_of_its_kind_may_be_where_the_reference_looks_for_it():
    tree = ast.parse("""
def reference_fn(x, tokens, slots, padding):
    keep = (tokens != padding) & (slots != 7)
    return F.cross_entropy(x[keep], tokens[keep], ignore_index=2)
""")

    assert dict(reference_source.special_values(tree, [None, None, None, 5])) == {5: {1, 3}, 2: {0, 1}}


def test_what_the_reference_asks_for_its_sign_has_minus_one():
    tree = ast.parse("""
def reference_fn(x, slots, ids, table):
    if (ids < 0).any() or (table > 0).any():
        raise ValueError
    kept = slots >= 0
    return x[kept]
""")

    assert dict(reference_source.special_values(tree)) == {-1: {1, 2}}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("out.index_add_(0, index, x)", True),
        ("torch.scatter_add(out, 0, index, x)", True),
        ("out.index_copy_(0, index, x)", False),
        ("out.scatter_(1, index, True)", True),
        ("out.scatter_(1, index, value=0.0)", True),
        ("out.scatter_(1, index, x)", False),
    ],
)
def test_the_reference_says_whether_an_index_may_come_twice(line, expected):
    assert reference_source.takes_repeats(ast.parse(f"def reference_fn(out, index, x):\n    return {line}")) is expected
    assert not reference_source.takes_repeats(ast.parse(f"def kernel_fn(out, index, x):\n    return {line}"))


def test_inputs_are_known_by_their_names_in_the_reference():
    tree = ast.parse("def reference_fn(x, rng_seed, scale, *, seed=0): ...\ndef kernel_fn(seed): ...")

    assert reference_source.named(tree, "seed") == {1}
    assert reference_source.named(ast.parse("x = 1"), "seed") == set()


def test_options_that_kernel_and_reference_share_begin_behind_what_is_given():
    tree = ast.parse("""
def reference_fn(x, bias, weight=None, eps=1e-5, scale=SCALE, causal=False): ...
def kernel_fn(x, bias, weight=None, eps=1e-5, scale=SCALE, causal=False): ...
""")

    assert reference_source.shared_options(tree, tree, 2) == [None, 1e-5]  # what a name stands for is not known
    assert reference_source.shared_options(tree, tree, 3) == [1e-5]
    other = ast.parse("def kernel_fn(x, bias, weight=None, eps=1e-6): ...")
    assert reference_source.shared_options(tree, other, 2) == [None]
    assert reference_source.shared_options(tree, ast.parse("kernel_fn = torch.compile(f)"), 2) == []


@pytest.mark.parametrize("line", ["mask != 0", "mask == 0", "mask.bool()", "mask.ne(0)", "x[mask.to(torch.bool)]"])
def test_what_is_only_asked_whether_it_is_zero(line):
    tree = ast.parse(f"def reference_fn(x, mask):\n    return {line}")

    assert reference_source.asks_whether_zero(tree) == {1}


@pytest.mark.parametrize("line", ["mask * x", "mask != 1", "mask.to(torch.int64)", "(mask + 1) != 0"])
def test_what_is_also_computed_with(line):
    assert not reference_source.asks_whether_zero(ast.parse(f"def reference_fn(x, mask):\n    return {line}"))


@pytest.mark.parametrize("line", [
    "x * positions.float()", "x * positions[:, None].to(wide)", "x * positions.reshape(-1, 1).double().sin()",
])  # fmt: skip
def test_integers_that_are_only_rounded(line):
    check = "if (positions < 0).any():\n        raise ValueError"
    tree = ast.parse(f"def reference_fn(x, positions):\n    {check}\n    return {line}")

    assert reference_source.only_rounded(tree) == {1}


@pytest.mark.parametrize("line", [
    "x[positions] * positions.float()", "x * (places < positions) / positions.float()", "x * positions",
    "x * positions.to(torch.int64)", "positions.to(x.device)",
])  # fmt: skip
def test_integers_that_are_more(line):
    tree = ast.parse(f"def reference_fn(x, positions):\n    return {line}")

    assert 1 not in reference_source.only_rounded(tree)
