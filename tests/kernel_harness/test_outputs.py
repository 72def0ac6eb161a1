"""Whose memory a result is, and the gradients that it gives."""

import pytest
import torch
from kernel_harness.outputs import OVERLAP_LIMIT_ELEMENTS, aliases, gradients, overlaps_itself

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("shape", "strides", "overlaps"), [
    ((4, 8), (8, 1), False), ((4, 8), (2, 1), True), ((3, 5), (1, 3), False), ((2, 2), (3, 2), False),
    ((3, 3), (3, 2), False), ((4, 4), (3, 2), True), ((1, 8), (0, 1), False), ((0, 8), (2, 1), False),
])
def test_windows_that_share_elements_overlap(shape, strides, overlaps):
    """Strides that do not nest may still reach each cell once: (3, 2) does for three by three."""
    view = torch.arange(64).as_strided(shape, strides)

    assert overlaps_itself(view) == overlaps
    assert bool(aliases(view, [], frozenset())) == overlaps


def test_windows_of_a_long_signal_outnumber_its_cells():
    windows = torch.zeros(1 << 17).unfold(0, 64, 1)

    assert windows.numel() > OVERLAP_LIMIT_ELEMENTS
    assert overlaps_itself(windows)
    assert not overlaps_itself(torch.empty(windows.shape).T)


def test_gradients_are_those_of_fixed_gradients_of_the_results():
    x, y = torch.ones(3, requires_grad=True), torch.ones(3)
    given = gradients(x * 1.0, [x, y], "whole")

    assert torch.equal(gradients((x * 2, "no tensor", y), [x, y], "whole")[0], given[0] * 2)
    assert bool(given[0].any())
    assert torch.equal(gradients((x * 2).bfloat16(), [x, y], "whole")[0], given[0] * 2)
    assert gradients([x * 2, x * 1], [x, torch.ones(2, requires_grad=True)], "whole")[1].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="no result requires a gradient"):
        gradients(y * 2, [x, y], "whole")


def test_sliced_gradients_have_the_values_of_whole_ones_in_rows_further_apart():
    x, seen = torch.ones(3, 5, requires_grad=True), []
    for kind in ("whole", "sliced"):
        y = x * 2
        y.register_hook(lambda grad: seen.append(grad))
        gradients(y, [x], kind)

    assert torch.equal(*seen)
    assert [grad.stride() for grad in seen] == [(5, 1), (10, 1)]
