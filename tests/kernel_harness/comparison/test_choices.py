"""The order of equal values is the kernel's choice only where PyTorch promises none, and only among right answers."""

import pytest
import torch
from kernel_harness.comparison.choices import Choices, is_hidden

pytestmark = pytest.mark.cpu
X = torch.tensor([[3.0, 7.0, 7.0, 1.0, 7.0]])


def indices(function, *choice):
    with Choices([torch.tensor([choice])]):
        result = function(X)
    return (result if isinstance(result, torch.Tensor) else result.indices).tolist()[0]


@pytest.mark.parametrize("choice", [(4, 1), (2, 4), (1, 2)])
def test_any_order_of_equal_values_is_a_top_k(choice):
    assert indices(lambda x: torch.topk(x, 2), *choice) == [*choice]
    assert indices(lambda x: x.topk(k=2, dim=1), *choice) == [*choice]


@pytest.mark.parametrize("choice", [(4, 4), (1, 0), (1, 5), (-1, 1)])
def test_a_wrong_index_is_none(choice):
    assert indices(lambda x: torch.topk(x, 2), *choice) == torch.topk(X, 2).indices.tolist()[0]


def test_a_sort_is_free_unless_it_is_asked_to_be_stable():
    order, stable = (3, 0, 4, 1, 2), [3, 0, 1, 2, 4]
    for free in (torch.sort, torch.argsort, lambda x: x.argsort(-1)):
        assert indices(free, *order) == [*order]
    assert indices(lambda x: torch.sort(x, dim=1, stable=True), *order) == stable
    assert indices(lambda x: torch.argsort(x, stable=True), *order) == stable


def test_the_values_of_an_unordered_top_k_follow_its_indices():
    with Choices([torch.tensor([[0, 1, 4, 2]])]) as choices:
        values, order = torch.topk(X, 4, sorted=False)

    assert choices.is_free
    assert order.tolist() == [[0, 1, 4, 2]]
    assert values.tolist() == [[3.0, 7.0, 7.0, 7.0]]


def test_an_order_of_equal_values_is_hidden_where_the_result_does_not_hold_it():
    distinct = torch.arange(5.0)[None]
    for x, shown, hidden in ((X, [], True), (X, [0, 1], True), (X, "order", False), (distinct, [], False)):
        with Choices([]) as choices:
            order = torch.topk(x, 2).indices

        assert is_hidden(choices.tied, [order.int() if shown == "order" else torch.tensor(shown)]) == hidden


@pytest.mark.parametrize("free", [
    lambda x: torch.topk(x, 2), lambda x: x.topk(2, dim=1), lambda x: torch.topk(input=x, k=2),
    torch.sort, torch.argsort,
])  # fmt: skip
def test_another_order_of_equal_values_is_a_right_answer(free):
    with Choices([], turned=True) as choices:
        turned = free(X)

    plain = free(X)
    order, usual = (r if isinstance(r, torch.Tensor) else r.indices for r in (turned, plain))
    assert choices.is_free
    assert not torch.equal(order, usual)
    assert torch.equal(X.gather(1, order), X.gather(1, usual))
    assert isinstance(plain, torch.Tensor) or torch.equal(turned.values, plain.values)


def test_what_is_asked_to_be_stable_is_not_turned():
    with Choices([], turned=True) as choices:
        order = torch.argsort(X, stable=True)

    assert not choices.is_free
    assert order.tolist() == [[3, 0, 1, 2, 4]]
