"""Layouts made of those of a case: one view alone, and a slice of a longer tensor."""

import pytest
import torch
from kernel_harness.inputs import layouts, nonfinite

pytestmark = pytest.mark.cpu


def view(offset: int = 1, size: int = 64) -> torch.Tensor:
    return torch.randn(size + offset)[offset:]


def test_of_several_views_each_lies_alone_as_it_did():
    x, y, w = view(), view(3), torch.randn(64)

    first, second = layouts.mixed([x, y, w, 2.0])

    assert [at for at, _ in (first, second)] == [0, 1]
    assert [layouts.is_plain(t) for t in first[1][:3]] == [False, True, True]
    assert [layouts.is_plain(t) for t in second[1][:3]] == [True, False, True]
    assert all(torch.equal(a, b) for a, b in zip(first[1][:3], (x, y, w), strict=True))


def test_one_view_or_memory_that_is_shared_is_left_alone():
    packed = torch.randn(3, 2, 8, 9)

    assert layouts.mixed([view(), torch.randn(64)]) == []
    assert layouts.mixed([packed[0, :, :, 1:], packed[1, :, :, 1:]]) == []


def test_parts_of_one_tensor_are_mixed_on_demand_unless_they_overlap():
    x, y = torch.randn(6, 20).chunk(2, 1)
    overlapping = torch.randn(6, 20)

    assert [at for at, _ in layouts.mixed([x, y], of_one=True)] == [0, 1]
    assert layouts.mixed([overlapping[:, :12], overlapping[:, 8:]], of_one=True) == []


def test_a_batch_that_is_not_contiguous_becomes_a_slice_of_longer_ones():
    x = torch.randn(2, 20, 68)[..., 4:]

    (y,) = layouts.parts([x])

    assert torch.equal(x, y)
    assert y.stride() == (x.stride(0) + x.stride(1), x.stride(1), 1)


def test_what_is_contiguous_flat_or_transposed_is_none():
    assert layouts.parts([torch.randn(2, 20, 64), torch.randn(20, 65)[:, 1:], torch.randn(2, 8, 8).mT]) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float8_e4m3fn], ids=str)
def test_rows_of_nothing_but_marks(dtype):
    """Numbers of eight bits, which have no isfinite, made the script fail."""
    x = torch.randn(16, 8)
    x[torch.rand(16, 8) < 0.2] = -torch.inf

    found = nonfinite.blank_rows(x.to(dtype), torch.Generator().manual_seed(0))

    assert (found is None) == (dtype.itemsize == 1)
    if found is not None:
        blank = (found == -torch.inf).all(-1)
        assert blank[0]
        assert not blank.all()


def test_a_square_becomes_the_transpose_of_another_with_and_without_its_memory():
    x, y = torch.randn(5, 5), torch.randn(5, 5)

    [(what, apart, shared)] = layouts.mirrored([x, y, torch.randn(5, 4), 2.0])

    assert "input 0 for input 1" in what
    assert torch.equal(apart[1], x.T)
    assert torch.equal(shared[1], x.T)
    assert apart[1].stride() == shared[1].stride() == (1, 5)
    assert (apart[1].data_ptr() == x.data_ptr(), shared[1].data_ptr() == x.data_ptr()) == (False, True)
    assert layouts.mirrored([x, y.half()]) == layouts.mirrored([x, torch.randn(4, 5)]) == []


def test_rows_further_apart_than_they_are_long():
    matrix, vector = torch.arange(12.0).view(3, 4), torch.arange(4.0)

    new, same, number = layouts.padded([matrix, vector, 7])

    assert torch.equal(new, matrix)
    assert new.stride() == (8, 1)
    assert (same is vector, number) == (True, 7)
    assert layouts.padded([vector]) is None
    assert layouts.padded([matrix, matrix.T]) is None
