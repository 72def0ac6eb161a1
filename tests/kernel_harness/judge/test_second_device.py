"""The trial on a second GPU, played: which device the inputs go to, and what a failure there decides."""

import types

import pytest
import torch
from kernel_harness.judge.device_trials import DeviceTrials
from kernel_harness.processes.worker import WorkerDied
from kernel_harness.values import Bundle, Span

pytestmark = pytest.mark.cpu


class Played(DeviceTrials):
    """Trials whose call on the second GPU gives ``answer``: a result, an error or the end of the process."""

    case, output_nbytes = "default", [8]

    def __init__(self, answer, paranoid: bool = False):
        self.answer, self.paranoid, self.asked, self.notes, self.found = answer, paranoid, [], [], []
        self.judge = self.outcome = self
        self.settings, self.facts = types.SimpleNamespace(timeout=1.0), {}

    def call(self, op, _timeout, **request):
        self.asked.append((op, request["slot"], [device for _, _, device in request["bundle"]["spans"]]))
        if self.answer == "dies":
            raise WorkerDied("an illegal address", "", 1)
        return {"error": "CUDA error"} if self.answer == "raises" else {"bundle": {}}

    def _working_copy(self, first):
        return types.SimpleNamespace(bundle=first)

    def _failed_quietly(self, _reply, _expected):
        return self.answer == "wrong"

    def _worst(self, *_):
        return "3 of 8 elements are wrong"

    def _take_result(self, *_):
        pass

    def add(self, check, _seen, _case):
        self.found.append(check)

    def note(self, text):
        self.notes.append(text)

    def new_file(self, _):
        return "file"

    def progress(self, _):
        pass


def ask(monkeypatch, answer, paranoid=False, gpus=2):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    trials = Played(answer, paranoid)
    first = Bundle({"items": []}, (Span(0, 8, "cuda:0"), Span(64, 8, "cpu")), "inputs", 128)
    trials._second_device(trials, first, {})
    return trials


def test_inputs_on_the_gpu_go_to_the_second_and_others_stay(monkeypatch):
    trials = ask(monkeypatch, "right")

    assert trials.asked == [("call", "b", ["cuda:1", "cpu"])]
    assert trials.facts == {"second_device": "right"}
    assert not trials.notes


def test_one_gpu_asks_nothing(monkeypatch):
    assert not ask(monkeypatch, "wrong", gpus=1).asked


@pytest.mark.parametrize("answer", ["wrong", "raises", "dies"])
def test_a_failure_there_is_a_note_and_decides_at_paranoid(monkeypatch, answer):
    usual, paranoid = ask(monkeypatch, answer), ask(monkeypatch, answer, paranoid=True)

    assert (len(usual.notes), usual.found) == (1, [])
    assert (paranoid.notes, paranoid.found) == ([], ["second-device"])
