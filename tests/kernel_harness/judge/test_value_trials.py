"""Which simulated cases meet which values."""

from types import SimpleNamespace

import pytest
from kernel_harness.judge.simulated_trials import MOST_VALUES, SimulatedTrials

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("seconds", "is_new", "meets"), [(0.5, True, True), (0.5, False, False), (20.0, True, False)])
def test_new_code_of_a_late_case_meets_what_tells_most(seconds, is_new, meets):
    """The merge of split rows took the last of equal maxima, in the ninth case of its file."""
    trials, seen = object.__new__(SimulatedTrials), []
    trials.outcome = SimpleNamespace(facts={"other_values": [str(index) for index in range(MOST_VALUES)]})
    trials.call_seconds, trials.is_new_code = seconds, is_new
    trials._most_hostile = seen.append
    first = SimpleNamespace(spans=[SimpleNamespace(nbytes=4096)])

    trials._simulated_values(first)

    assert seen == [first] * meets
