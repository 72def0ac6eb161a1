"""Further cases of a file, as get_inputs makes them."""

from types import SimpleNamespace

import pytest
import torch
from kernel_harness import case_sizes

pytestmark = pytest.mark.cpu


def test_sizes_that_might_take_all_memory_are_not_tried():
    asked = []

    def get_inputs(m=64, n=64):
        asked.append(m * n)
        return [torch.empty(m, n)]

    cases = {"default": {}, "tall": {"m": 1 << 20, "n": 8}, "wide": {"m": 4, "n": 1 << 20}}
    file = SimpleNamespace(get_inputs=get_inputs, cases=cases)
    groups = case_sizes.add_between(file, limit=2**25)["groups"]

    assert max(asked) <= 2**25
    assert any(case.startswith("m=524288 beside m=524288, n=8") for group in groups for case in group)
