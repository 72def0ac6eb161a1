"""Cases of the judge's own, where get_inputs breaks the GPU on some of them."""

import pytest
from kernel_harness.judge import derived_trials

pytestmark = pytest.mark.cpu


class Judge:
    """Whose oracle faults at one size."""

    def __init__(self):
        self.added, self.renewed = [], 0

    def renew_oracle(self):
        self.renewed += 1

    def ask_oracle(self, question, **arguments):
        return {"groups": [["n=7"]]} if "n=99" in arguments["without"] else {"lost": "n=99"}


def test_after_a_fault_another_oracle_is_asked_for_the_other_cases():
    judge = Judge()

    answer = derived_trials._add_cases(judge, "add_unset", cases=["default"])

    assert answer == {"groups": [["n=7"]]}
    assert judge.renewed == 1
    [(question, arguments)] = judge.added  # what a later oracle is asked, to know the same cases
    assert question == "add_unset"
    assert arguments["without"] == ["n=99"]
