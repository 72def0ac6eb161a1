"""What the trials of a GPU ask of the candidate; their answers come from one."""

import pytest
import torch
from kernel_harness import values
from kernel_harness.judge.device_trials import DeviceTrials

pytestmark = pytest.mark.cpu


class Trials(DeviceTrials):
    """Whose candidate answers nothing."""

    def __init__(self):
        self.asked = []

    def _moves(self, bundle):
        return True

    def _working_copy(self, bundle):
        return values.Mapping(bundle, writable=False)

    def _call(self, label, work, slot, **options):
        self.asked.append(options)
        return {}


def test_a_call_with_its_lists_turned_is_queued_behind_one_that_waits(tmp_path):
    trials = Trials()

    trials._queued(values.save([torch.ones(4), [3, 0, 7]], tmp_path / "lists"))

    [options] = trials.asked
    assert options["stream"] == "slow"
    assert values.rebuild(options["then"]["tree"]["items"][1], None) == [0, 7, 3]


def test_without_lists_of_numbers_no_call_is_queued(tmp_path):
    trials = Trials()

    trials._queued(values.save([torch.ones(4), 3, True], tmp_path / "none"))

    assert trials.asked == []
