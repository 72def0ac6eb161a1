"""Whether changed values are a trial, by what the reference answers to them."""

import pytest
import torch
from kernel_harness import values
from kernel_harness.inputs import hostile
from kernel_harness.judge import answers

pytestmark = pytest.mark.cpu


@pytest.fixture
def answer(tmp_path):
    def make(result: torch.Tensor) -> dict:
        file = tmp_path / f"answer{len(list(tmp_path.iterdir()))}"
        mapping = values.Mapping(values.save({"result": result}, file), writable=False)
        return {"native": mapping, "golden": mapping}

    return make


def test_answers_that_shrink_as_those_of_a_product_do(answer):
    x, w, bias = torch.randn(9, 32), torch.randn(32, 5), torch.randn(5)
    small = x * hostile.TINY, w * hostile.TINY
    base, product = answer(x @ w), answer(small[0] @ small[1])

    assert answers.shrink_alike(product, base)
    assert answers.shrink_alike(answer(x * hostile.TINY), answer(x))
    assert not answers.shrink_alike(answer(small[0] @ small[1] + bias * hostile.TINY), answer(x @ w + bias))
    masked = torch.where(x > 0, x, -torch.inf)
    assert not answers.shrink_alike(answer(masked * hostile.TINY), answer(masked))
    assert not answers.keep_size(product, base)
    assert answers.keep_size(answer(torch.softmax(small[0], 1)), answer(torch.softmax(x, 1)))


def test_what_is_masked_leaves_the_answers_of_a_softmax_and_not_those_of_a_sum(answer):
    x = torch.randn(9, 64)
    low = hostile.masked(x, torch.Generator().manual_seed(0))

    assert 0.1 < float((low == hostile.MASKED).float().mean()) < 0.4
    assert torch.equal(low.amax(1), x.amax(1))
    assert answers.are_no_larger(answer(low.softmax(1)), answer(x.softmax(1)))
    assert not answers.are_no_larger(answer(low.sum(1)), answer(x.sum(1)))
    chosen = torch.where(low < 1, -torch.inf, low)
    assert answers.are_no_larger(answer(chosen), answer(x)), "by the numbers that are finite"
    assert hostile.masked(x.abs(), torch.Generator()) is None
    assert float(hostile.masked(x.half(), torch.Generator()).min()) == hostile.MASKED_HALF
