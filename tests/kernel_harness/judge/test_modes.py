"""Calls without gradients: each mode of PyTorch meets the first inputs and another draw of them."""

import pytest
from kernel_harness.judge.value_trials import MODES, ValueTrials

pytestmark = pytest.mark.cpu


class Case:
    base = "answer to first"

    def __init__(self, is_another):
        self.is_another, self.judged = is_another, []

    def _other_inputs(self, first):
        return ("other" if self.is_another else first), self.is_another

    def _reference(self, inputs, label):
        return f"answer to {inputs}"

    def _working_copy(self, inputs):
        return inputs

    def _call(self, label, work, slot, mode, **options):
        return mode

    def _judge_trial(self, label, mode, expected, inputs, work, decisive):
        self.judged.append((mode, inputs, expected))


@pytest.mark.parametrize(("is_another", "draws"), [(True, ["first", "other"]), (False, ["first"])])
def test_each_mode_meets_each_draw_and_its_answer(is_another, draws):
    case = Case(is_another)

    ValueTrials._modes(case, "first")

    assert case.judged == [(mode, inputs, f"answer to {inputs}") for inputs in draws for mode in MODES]
