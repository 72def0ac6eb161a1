"""Numbers with which a reference compares an input."""

import ast

import pytest
import torch
from kernel_harness.inputs import thresholds

pytestmark = pytest.mark.cpu
TORCH = torch.Generator().manual_seed(0)


def test_a_number_is_written_out_or_an_argument_and_stands_beside_an_input():
    tree = ast.parse("""
def reference_fn(x, u, p):
    if (u < 0).any():
        raise ValueError
    y = x * 2
    return torch.where(u >= p, y, -1.5 * (y > 3) * (x.abs() > 4))
""")

    assert set(thresholds.compared(tree, [None, None, 0.25])) == {(0, 1), (0.25, 1)}


def test_a_format_holds_the_number_that_is_put_into_it():
    x = torch.randn(64, generator=TORCH)

    assert int((thresholds.put(0.25)(x, TORCH) == 0.25).sum()) > 4
    assert thresholds.put(0.1)(x, TORCH) is None
    assert thresholds.put(300)(torch.zeros(4, dtype=torch.uint8), TORCH) is None


def test_codes_meet_a_number_and_positions_do_not():
    codes = torch.tensor([7, 8, 6, 9], dtype=torch.uint8)

    assert all(15 in thresholds.put(15)(codes, TORCH) for _ in range(50))
    assert thresholds.put(15)(codes.long(), TORCH) is None
