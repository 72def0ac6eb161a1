"""A draw of get_inputs is the seed's alone: also where the file seeds, and as it would be where it does not."""

import random

import numpy as np
import pytest
import torch
from kernel_harness.inputs.seeding import reseeded

pytestmark = pytest.mark.cpu


def default():
    torch.manual_seed(0)
    return torch.randn(4)


def own(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(4, generator=generator)


def unseeded():
    return torch.empty(4).normal_(generator=torch.Generator())


def python():
    random.seed(0)
    return torch.tensor([random.random()])


def python_own():
    return torch.tensor([random.Random(0).random()])


def numpy():
    np.random.seed(0)
    return torch.from_numpy(np.random.rand(3))


def numpy_own():
    return torch.from_numpy(np.random.default_rng(seed=0).random(3))


def drawn(make, seed):
    with reseeded(seed):
        return make()


@pytest.mark.parametrize("make", [default, own, unseeded, python, python_own, numpy, numpy_own])
def test_a_seed_of_the_file_does_not_fix_the_draw(make):
    assert torch.equal(drawn(make, 1), drawn(make, 1))
    assert not torch.equal(drawn(make, 1), drawn(make, 2))


@pytest.mark.parametrize("make", [default, own, python, python_own, numpy, numpy_own])
def test_within_a_draw_equal_seeds_give_equal_values(make):
    first, second = drawn(lambda: (make(), make()), 1)

    assert torch.equal(first, second)


def test_a_generator_goes_on():
    def make():
        generator = torch.Generator().manual_seed(0)
        return torch.randn(4, generator=generator), torch.randn(4, generator=generator)

    assert not torch.equal(*drawn(make, 1))


def test_without_a_seed_of_the_file_it_is_the_seed_itself():
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    expected = torch.randn(4), random.random(), np.random.rand()

    got = drawn(lambda: (torch.randn(4), random.random(), np.random.rand()), 3)

    assert torch.equal(got[0], expected[0])
    assert got[1:] == expected[1:]


def test_outside_nothing_is_replaced():
    with reseeded(1):
        pass

    assert torch.equal(default(), default())
    assert random.Random(5).random() == random.Random(5).random()
    assert np.random.default_rng(0).random() == np.random.default_rng(0).random()
    assert "kernel_harness" not in (random.seed.__module__ or "") + (random.Random.seed.__module__ or "")
