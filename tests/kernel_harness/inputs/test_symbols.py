"""Tensors of symbols that a small case has too few of to show it."""

import pytest
import torch
from kernel_harness.inputs.symbols import symbols_elsewhere

pytestmark = pytest.mark.cpu

SIGNS = torch.tensor([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
NORMAL = torch.randn(6, generator=torch.Generator().manual_seed(0))


def test_a_constant_or_small_tensor_that_is_symbols_in_another_case():
    made = [NORMAL, torch.ones(6), [torch.tensor([1.0, -1.0])]]
    assert symbols_elsewhere(made, [lambda: [NORMAL, SIGNS, [SIGNS]]]) == {(1, 0), (2, 0)}


@pytest.mark.parametrize("other", [NORMAL, torch.zeros(6), SIGNS.int()])
def test_a_constant_that_is_none_elsewhere(other):
    assert symbols_elsewhere([torch.zeros(6)], [lambda: [other]]) == set()


def test_the_first_case_that_tells_decides():
    """A bias that is drawn in one case and whole in another may be anything."""
    cases = [lambda: [torch.zeros(6)], lambda: [NORMAL], lambda: [SIGNS]]
    assert symbols_elsewhere([torch.zeros(6)], cases) == set()
    assert symbols_elsewhere([torch.zeros(6)], cases[::-1]) == {(0, 0)}


def test_a_case_that_fails_tells_nothing():
    assert symbols_elsewhere([torch.ones(6)], [lambda: 1 / 0, lambda: [SIGNS]]) == {(0, 0)}
