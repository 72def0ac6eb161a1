"""Parts of results that two inputs have in common."""

import pytest
import torch
from kernel_harness.comparison.structure import only_where_same, same_rows

pytestmark = pytest.mark.cpu


def test_rows_count_as_a_whole_and_integers_not_at_all():
    before = torch.tensor([[1.0, 2.0], [3.0, float("nan")], [5.0, 6.0]])
    now = torch.tensor([[1.0, 2.0], [3.0, float("nan")], [5.0, 7.0]])

    assert same_rows(before, now).tolist() == [[True, True], [True, True], [False, False]]
    assert same_rows(before[:, 0], now[:, 0]).tolist() == [True, True, True]
    assert not same_rows(before.nan_to_num().int(), now.nan_to_num().int()).any()


def test_elsewhere_the_reference_stands_for_the_result():
    native, other, result = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]), torch.tensor([7.0, 8.0])

    assert only_where_same(result, native, other).tolist() == [7.0, 2.0]
