"""Which operator of PyTorch made what a call returns as its own."""

import pytest
import torch
from kernel_harness.observation.witness import Witness

pytestmark = pytest.mark.cpu
X = torch.randn(16, 24, generator=torch.Generator().manual_seed(0))


def copied(function, *inputs):
    with Witness(list(inputs)) as witness:
        result = function(*inputs)
    return witness.copied(result)


def copy(x):
    """As a kernel copies: no operator sees it."""
    out = torch.empty_like(x)
    out.numpy()[...] = x.numpy()
    return out


def test_a_copy_of_what_an_operator_made_of_an_input():
    assert copied(lambda x: copy(torch.softmax(x, -1)), X) == "aten._softmax.default"
    assert copied(lambda x: [copy(torch.exp(x)), copy(torch.sum(x, 0))], X) == "aten.exp.default"


@pytest.mark.parametrize("function", [
    lambda x: torch.softmax(x, -1),  # PyTorch's own result: there are no kernels to copy it
    copy,
    lambda x: copy(x.T.contiguous()),  # a copy is nothing that is computed
    lambda x: copy(copy(x).relu()),  # of what a kernel made, not of an input
    lambda x: copy(torch.softmax(x, -1)) * 2,
    lambda x: [copy(torch.exp(x)), copy(x) + 1],
    lambda x: copy(torch.sum(x)),  # too few elements to tell
], ids=range(7))
def test_what_is_no_copy(function):
    assert copied(function, X) == ""


def test_products_that_pytorch_computes_are_named():
    x, w = torch.randn(3, 4, 30), torch.randn(4, 1, 3)
    with Witness([x, w]) as witness:
        result = torch.nn.functional.conv1d(x, w, groups=4) + (x[..., 2:] @ x[..., 2:].mT).sum()

    assert witness.told(result)["products"] == ["aten.bmm", "aten.convolution"]
    with Witness([x]) as witness:
        assert witness.told(x.exp().sum(-1))["products"] == []
