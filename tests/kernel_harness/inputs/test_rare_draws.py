"""Which draws of get_inputs stand out among many."""

import pytest
import torch
from kernel_harness.inputs import rare_draws

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch):
    """All draws are made, the same ones, also on a busy machine."""
    for name in ("SECONDS", "SECONDS_OF_NUMBERS"):
        monkeypatch.setattr(rare_draws, name, 60.0)


def drawn(make):
    def draw(seed):
        torch.manual_seed(seed)
        return [torch.randn(4), make()]

    return draw


def chosen(make):
    draw = drawn(make)
    return [draw(seed)[1] for seed, _ in rare_draws.rarest(draw, seed=1)]


def test_an_id_that_comes_three_times_is_found():
    found = chosen(lambda: torch.randint(0, 2000, (64,)))

    assert max(int(ids.unique(return_counts=True)[1].max()) for ids in found) >= 3


def test_a_place_at_the_edge_of_the_only_block_is_found():
    assert any(bool(mask[:, 256].any()) for mask in chosen(lambda: torch.rand(2, 300) < 0.01))


@pytest.mark.parametrize("classes", [30, 100, 1000])
def test_the_last_of_many_classes_is_found(classes):
    assert any(bool((labels == classes - 1).any()) for labels in chosen(lambda: torch.randint(0, classes, (8,))))


def test_a_zero_among_many_numbers_does_not_push_out_an_integer():
    """All of these are rare; that a tensor of 2**14 numbers holds a zero is rarest, and says least."""

    def draw(seed):
        torch.manual_seed(seed)
        numbers = [torch.where(torch.rand(64) < 1e-4, 0.0, 1.0) for _ in range(3)]
        return [*numbers, torch.randint(0, 129, (4,))]

    found = rare_draws.rarest(draw, seed=1)

    assert any(int(draw(seed)[3].min()) == 0 for seed, _ in found)


@pytest.mark.parametrize("make", [lambda: torch.randn(8), lambda: torch.arange(50), lambda: torch.ones(3) > 0])
def test_what_is_alike_in_all_draws_is_not_rare(make):
    assert rare_draws.rarest(drawn(make), seed=1) == []


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int16], ids=str)
def test_every_width_of_integers_is_looked_at(dtype):
    assert chosen(lambda: torch.randint(0, 120, (40,)).to(dtype))


@pytest.mark.parametrize("value", [0.0, float("-inf")])
def test_numbers_that_are_seldom_zero_or_infinite_are_found(value):
    found = chosen(lambda: torch.randn(8) if torch.rand(()) < 0.97 else torch.full((8,), value))

    assert any(bool((numbers == value).all()) for numbers in found)


def test_few_are_judged():
    def draw(seed):
        return [torch.randint(0, 10**6, (30,)) for _ in range(9)]

    assert 0 < len(rare_draws.rarest(draw, seed=1)) <= rare_draws.MOST


def test_no_more_draws_than_there_is_time_for(monkeypatch):
    monkeypatch.setattr(rare_draws, "SECONDS", 0.0)
    monkeypatch.setattr(rare_draws, "SECONDS_OF_NUMBERS", 0.0)

    assert chosen(lambda: torch.randint(0, 2000, (64,))) == []
