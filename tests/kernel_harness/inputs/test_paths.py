"""Sizes of paths that no case of a file takes."""

import ast

import pytest
from kernel_harness.inputs.between import between
from kernel_harness.inputs.paths import beyond, constants

pytestmark = pytest.mark.cpu

FILE = """
TILE, TAPS = 32, 128
ROWS = TILE << 2
RANK = 3
def reference_fn(x): return x if len(x) < 1000 else x[1:]
def get_inputs(n=4096): return [] if n > 5000 else [n]
def kernel_fn(x):
    ctas = cutlass.min(x.shape[0], 4 * ROWS + 16), max(TILE, TAPS)
    if x.ndim != RANK or len(x) % 2 or not 1 <= x.shape[0] <= TAPS:
        raise ValueError
    return launch(x, two=x.shape[1] > 2 * ROWS - 1, three=TILE < 64, far=len(x) < 1 << 40)
class Kernel:
    def __call__(self, x):
        return x.numel() >= 77 and x[: ROWS]
"""


def test_integers_that_something_is_compared_with():
    assert constants(ast.parse(FILE)) == [77, 128, 255, 528]


@pytest.mark.parametrize(("sizes", "edges", "expected"), [
    ({192, 3, 201}, [256], [258]),  # all have the divisor 3
    ({192, 3, 200}, [256], [256, 257]),
    ({7, 100}, [64], []),  # both sides are there
    ({77, 32768}, [1024, 8192], [1024, 1025]),
    ({64, 512}, [1024, 5000], [1024, 2048, 8192]),
    ({64, 2048}, [16], []),  # nothing is known below the smallest of these,
    ({33, 40, 100}, [32, 64], [31]),  # and that any will do of those
    ({64}, [1024], []),
    ({0, 64}, [1024], []),
])  # fmt: skip
def test_sizes_that_the_numbers_separate_from_the_cases(sizes, edges, expected):
    assert beyond(sizes, edges) == expected


def test_they_keep_the_order_that_the_cases_have():
    cases = {"k": 4, "n": 100}, {"k": 8, "n": 200}
    changed = [what for what, _, _ in between(cases, (150, 300))]

    assert "n=300" in changed
    assert not {"k=152", "k=300"} & set(changed)
