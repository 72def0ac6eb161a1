"""New values for timed calls: any dtype, the layout that get_inputs gave."""

import pytest
import torch
from kernel_harness import values
from kernel_harness.inputs import input_sets
from kernel_harness.roles import referee

pytestmark = pytest.mark.cpu
FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_scaled_inputs_are_copies_with_other_values(dtype):
    x = (1 + torch.rand(64)).to(dtype)
    before = x.to(torch.float64)

    (y, index, number) = input_sets.scaled([x, torch.arange(3), 7], seed=3)

    factor = input_sets.scale_factor(3)
    assert torch.equal(x.to(torch.float64), before)
    assert torch.allclose(y.to(torch.float64), before * factor, rtol=2 * torch.finfo(dtype).eps)
    assert torch.equal(index, torch.arange(3))
    assert number == 7


@pytest.mark.parametrize("view", [
    lambda x: x.t(), lambda x: x[:, 1::2], lambda x: x[1:2].expand(5, -1), lambda x: x[0, 3], lambda x: x[:0],
], ids=["transposed", "strided", "expanded", "scalar", "empty"])
def test_scaled_inputs_keep_their_layout(view):
    x = view(torch.rand(6, 8) + 1)

    (y,) = input_sets.scaled([x], seed=1)

    assert (y.shape, y.stride()) == (x.shape, x.stride())
    assert y.data_ptr() % 16 == x.data_ptr() % 16
    assert torch.allclose(y, x * input_sets.scale_factor(1))


def test_the_referee_varies_8_bit_floats_and_expanded_inputs(tmp_path):
    inputs = [torch.rand(32).add(1).to(torch.float8_e4m3fn), torch.rand(1, 4).add(1).expand(3, 4)]
    first, fresh = (values.save(inputs, tmp_path / name) for name in ("first", "fresh"))

    assert referee.vary(fresh.to_json(), first.to_json(), seed=5) == {"same": True}

    mapping = values.Mapping(fresh)
    eight, expanded = values.rebuild(fresh.tree, mapping.bytes_of)
    assert not torch.equal(eight.view(torch.uint8), inputs[0].view(torch.uint8))
    assert torch.allclose(expanded, inputs[1] * input_sets.scale_factor(5))
