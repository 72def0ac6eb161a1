"""What docstrings say of sizes."""

import ast

import pytest
from kernel_harness.inputs import claims

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("said", "expected"), [
    ("x: contiguous, any shape and size.", True), ("Softmax over rows of arbitrary length.", True),
    ("x of any float dtype", False), ("any sizes that are multiples of 8", False), ("x (M, N)", False), ("", False),
])  # fmt: skip
def test_a_docstring_claims_any_size(said, expected):
    for text in (f'"""{said}"""', f'def kernel_fn(x):\n    """{said}"""'):
        assert claims.takes_any_size(ast.parse(text)) == expected
    assert not claims.takes_any_size(ast.parse(f'def helper(x):\n    """{said}"""'))


@pytest.mark.parametrize(("said", "expected"), [
    ("x float32, float16 or bfloat16, contiguous", ["float32", "float16", "bfloat16"]),
    ("x (M, N) bf16/fp16", ["bfloat16", "float16"]), ("x bfloat16, sums in float32", []),
    ("bf16 and fp32 accumulation", []), ("x bfloat16", []), ("float8, float16 or bfloat16", ["float16", "bfloat16"]),
])  # fmt: skip
def test_a_docstring_leaves_a_choice_of_dtypes(said, expected):
    assert claims.dtypes(ast.parse(f'"""{said}"""')) == expected
