"""Whether changed values are a trial, by what the reference answers to them."""

from types import SimpleNamespace

import pytest
import torch
from kernel_harness import values
from kernel_harness.comparison.compare import Comparison
from kernel_harness.inputs import hostile
from kernel_harness.judge import answers
from kernel_harness.judge.hostile_trials import HostileTrials

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
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        low = hostile.masked(x.to(dtype), torch.Generator().manual_seed(0))
        out = hostile.left_out(low, torch.Generator())
        assert torch.equal(out.isinf(), low < -1e4)
        assert torch.equal(out[~out.isinf()], low[~out.isinf()])


def test_minus_1e9_masks_scores_and_no_factor_of_them(answer):
    """As a key it makes scores of which the maximum's rounding is more than an exponential holds."""
    asked = []

    class Trials(HostileTrials):
        def __init__(self, reference):
            self.base, self.reference = answer(torch.ones(4)), reference

        def _varied(self, bundle, change, only):
            asked.append((bundle, change, only))
            return "with -inf", True

        def _reference(self, bundle, label, golden):
            return answer(self.reference)

    expected = {**answer(torch.ones(4)), "bundle": "with -1e9"}
    assert Trials(torch.tensor([1.0, -torch.inf]))._leaves_out(expected, 1)
    assert not Trials(torch.tensor([1.0, torch.nan]))._leaves_out(expected, 1)
    assert asked[0] == ("with -1e9", hostile.left_out, {1})


@pytest.mark.parametrize(("wrong", "nan", "findings"), [(2, 0, 0), (3, 0, 1), (1, 1, 1)])
def test_one_or_two_elements_are_no_leak_of_what_was_enlarged(answer, wrong, nan, findings):
    """A rounding on the way may have decided those; NaN in one of them did not come of a rounding."""
    seen = Comparison("result", "float32", [9, 4], 36, wrong=wrong, wrong_class=nan, first_index=[1, 0])

    class Trials(HostileTrials):
        def __init__(self):
            self.base, self.case = answer(torch.ones(9, 4)), "default"
            self.outcome = SimpleNamespace(found=[], add=lambda *finding: self.outcome.found.append(finding))
            self._varied = lambda *_: (None, True)
            self.case_failed = lambda: False
            self._reference = lambda *_, **__: answer(torch.cat((torch.zeros(1, 4), torch.ones(8, 4))))
            self._working_copy = lambda new: new
            self._call = lambda *_, **__: {"bundle": {}, "result": None}
            self._has_structure = lambda *_: True
            self._compared = lambda *_, **__: [seen]

    trials = Trials()
    trials._beside(SimpleNamespace(tree={"items": [None]}), None, "the first rows of input {} large")
    assert len(trials.outcome.found) == findings


def test_answers_near_the_end_of_the_range_are_no_trial_unless_the_first_ones_are_there(answer):
    x = torch.randn(9, 32)

    assert answers.are_vast(answer(x * 1e37), answer(x))
    assert not answers.are_vast(answer(x * 1e20), answer(x))
    assert not answers.are_vast(answer(x * 1e37), answer(x * 1e36))
    assert not answers.are_vast(answer(torch.empty(0)), answer(x))
