"""NaN where flags or lengths leave an input out."""

import pytest
import torch
from kernel_harness.inputs import nonfinite
from kernel_harness.inputs.nonfinite import led_by_marks, may_mark, where_left_out

pytestmark = pytest.mark.cpu


def nan_places(marks, value, shape):
    changed = where_left_out(torch.tensor(marks), value)(torch.ones(shape), torch.Generator())
    return None if changed is None else changed.isnan()


def test_flags_mark_the_dimensions_of_their_sizes():
    flags = [[True, False, True], [False, True, True]]

    marked = nan_places(flags, False, (2, 4, 3, 5))
    assert torch.equal(marked.any(1).any(-1), ~torch.tensor(flags))
    assert torch.equal(marked.all(1).all(-1), ~torch.tensor(flags))
    assert torch.equal(nan_places(flags, True, (2, 3)), torch.tensor(flags))
    assert nan_places(flags, True, (3, 2)) is None


def test_lengths_leave_out_the_end_of_each_row():
    marked = nan_places([1, 0, 3], None, (3, 3, 2))

    assert marked.any(-1).sum(1).tolist() == [2, 3, 0]
    assert not marked[0, 0].any()
    assert nan_places([3, 3], None, (2, 3)) is None  # nothing is left out
    assert nan_places([4, 1], None, (2, 3)) is None  # no lengths of these rows
    assert nan_places([1, 2], None, (5, 2)) is None  # the last dimension has no rows behind it


def test_what_may_mark():
    assert may_mark(torch.tensor([True, False]))
    assert not may_mark(torch.tensor([True, True]))
    assert may_mark(torch.tensor([0, 7]))
    assert not may_mark(torch.tensor([-1, 7]))
    assert not may_mark(torch.tensor([0.0, 1.0]))


def test_marks_lead_each_row_that_has_a_number_at_its_end():
    x = torch.arange(48.0).view(3, 16)
    x[0, 3], x[1, 14:] = -torch.inf, -torch.inf
    new = led_by_marks(x, torch.Generator())

    assert torch.equal(new[1], x[1])
    assert torch.isinf(new[0, :14]).all()
    assert new[2].tolist() == [-torch.inf] * 14 + [46.0, 47.0]
    assert led_by_marks(torch.ones(3, 16), torch.Generator()) is None
    assert led_by_marks(x[:, :8], torch.Generator()) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_nan_of_several_payloads(dtype):
    x = torch.randn(100_000, generator=torch.Generator().manual_seed(0)).to(dtype)

    new = nonfinite.nans(x, torch.Generator().manual_seed(1))

    kinds = new[new.isnan()].view(nonfinite.RAW[dtype]).unique()
    assert len(kinds) >= 4
    assert bool((kinds > 0).all())
    assert torch.equal(new[~new.isnan()], x[~new.isnan()])
