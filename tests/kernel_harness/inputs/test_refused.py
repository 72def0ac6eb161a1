"""The last element becomes none that is taken; all others, and the inputs themselves, stay."""

import pytest
import torch
from kernel_harness.inputs import refused

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("change", "x", "last"), [
    (refused.last_negative, torch.tensor([[3, 1], [0, 2]]), -1),
    (refused.last_beyond, torch.tensor([3, 1, 0], dtype=torch.int32), 76),
    (refused.last_beyond, torch.tensor([-5, -1]), 64),
    (refused.last_beyond, torch.tensor([1 << 62, 5]), 2**63 - 1),
    (refused.last_nan, torch.ones(2, 3).mT, float("nan")),
])  # fmt: skip
def test_the_last_element_alone(change, x, last):
    before = x.clone()

    new = change(x, torch.Generator())

    assert torch.equal(x, before)
    assert torch.equal(new.flatten()[:-1], before.flatten()[:-1])
    assert torch.equal(new.flatten()[-1].isnan() if last != last else new.flatten()[-1] == last, torch.tensor(True))


@pytest.mark.parametrize("x", [torch.ones(3), torch.ones(3, dtype=torch.bool), torch.ones(0, dtype=torch.int64)])
def test_no_index_to_refuse(x):
    assert refused.last_negative(x, torch.Generator()) is None
    assert refused.last_beyond(x, torch.Generator()) is None


@pytest.mark.parametrize("x", [torch.ones(3).to(torch.float8_e4m3fn), torch.ones(3, dtype=torch.int32), torch.ones(0)])
def test_no_number_that_may_be_nan(x):
    assert refused.last_nan(x, torch.Generator()) is None
