"""Kernels launched for show: is the result right without them? The GPU's part is in tests/kernels (d8_cute_decoy)."""

import pytest
import torch
from kernel_harness.judge.device_trials import DeviceTrials
from kernel_harness.observation import graph_nodes
from kernel_harness.processes.worker import WorkerDied

pytestmark = pytest.mark.cpu
OWN = {"name": "mine", "launches": 1, "us": None, "library": False}
LIBRARY = {"name": "nvjet_sm90", "launches": 1, "us": None, "library": True}


class Played(DeviceTrials):
    """Trials of a case whose graph, without its own kernels, gives a result that is right or wrong."""

    timeout = 1.0

    def __init__(self, right: bool, share: float | None, faults: bool):
        self.right, self.faults, self.asked, self.found, self.case = right, faults, [], [], "default"
        self.outcome = self.judge = self.candidate = self.settings = self
        self.facts, self.replaced = {"own_share": share}, False
        self.kernels, self.spoiled = [], True

    def add(self, check, seen, case):
        self.found.append((check, seen))

    def call(self, op, _timeout, **arguments):
        if op == "graph":
            assert arguments["waits"] is False
            self.asked.append(op)
            return {"kernels": self.kernels} if self.kernels else {"not_capturable": "it waits for something else"}
        assert self.asked[-1] == "recheck", "nothing can be asked of it afterwards"
        self.asked.append((op, arguments["disabled"]))
        if self.faults:
            raise WorkerDied("an illegal address", "", 1)
        return {"bundle": {}}

    def recheck(self):
        self.asked.append("recheck")

    def replace_candidate(self):
        self.replaced = True

    def renew_candidate(self):
        self.spoiled = False

    def _varied(self, *_, **__):
        return None, True

    def _working_copy(self, _):
        return self

    @property
    def bundle(self):
        return self

    def to_json(self):
        return {}

    def new_file(self, _):
        return "file"

    def progress(self, _):
        pass

    def _take_result(self, *_):
        pass

    def _reference(self, *_):
        pass

    def _failed_quietly(self, *_):
        return not self.right


def ablated(kernels, right=True, share=0.1, faults=False) -> Played:
    trials = Played(right, share, faults)
    trials._without_own_kernels(None, kernels, {0})
    return trials


@pytest.mark.parametrize("share", [0.1, 0.9, None])
def test_a_result_that_needs_no_kernel_of_the_file_is_a_decoys(share):
    trials = ablated([LIBRARY, OWN], share=share)

    assert trials.asked[-1] == ("ablate", ["mine"])
    ((check, seen),) = trials.found
    assert check == "decoy"
    assert "mine" in seen
    assert "nvjet_sm90" in seen


def test_a_small_kernel_that_the_result_needs_is_none():
    trials = ablated([LIBRARY, OWN], right=False)

    assert trials.asked
    assert not trials.found


def test_a_fault_without_its_kernels_is_no_fault_of_the_file():
    """The library's kernel may index with what the file's would have written."""
    trials = ablated([LIBRARY, OWN], faults=True)

    assert not trials.found
    assert trials.replaced


@pytest.mark.parametrize(("kernels", "share"), [([OWN], 1.0), ([LIBRARY], 0.0)])
def test_only_where_a_library_takes_part_is_it_asked(kernels, share):
    assert not ablated(kernels, share=share).asked


def captured_without_waits(counted, captured, right=True) -> Played:
    trials = Played(right, 0.1, faults=False)
    trials.facts["kernels"], trials.kernels = counted, captured
    trials._without_waits(None, {0})
    return trials


def test_a_decoy_that_waits_for_the_device_is_found():
    trials = captured_without_waits([LIBRARY, OWN], [LIBRARY, OWN])

    assert trials.asked == ["graph", "recheck", ("ablate", ["mine"])]
    assert [check for check, _ in trials.found] == ["decoy"]
    assert not trials.spoiled


def test_a_kernel_that_waits_and_is_needed_is_none():
    assert not captured_without_waits([LIBRARY, OWN], [LIBRARY, OWN], right=False).found


def test_what_cannot_be_captured_without_its_waits_says_nothing():
    trials = captured_without_waits([LIBRARY, OWN], [])

    assert trials.asked == ["graph"]
    assert not trials.found
    assert trials.spoiled


@pytest.mark.parametrize("kernels", [None, [OWN], [LIBRARY]])
def test_only_beside_a_library_is_a_call_captured_without_its_waits(kernels):
    trials = captured_without_waits(kernels, [LIBRARY, OWN])

    assert not trials.asked
    assert trials.spoiled  # by the capture that failed


def test_waits_do_nothing_while_they_are_muted_and_wait_again_afterwards(monkeypatch):
    def raises(*_):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(torch.cuda, "synchronize", raises)
    monkeypatch.setattr(torch._C, "_cuda_synchronize", raises, raising=False)
    monkeypatch.setattr(torch.cuda.Event, "synchronize", raises)
    before = torch.cuda.Stream.query
    for _ in range(2):
        with graph_nodes.without_waits():
            torch.cuda.synchronize(0)
            torch._C._cuda_synchronize()
            assert torch.cuda.Event.synchronize(None) is None
            assert torch.cuda.Stream.query(None)
    for wait in (torch.cuda.synchronize, torch._C._cuda_synchronize, torch.cuda.Event.synchronize):
        with pytest.raises(RuntimeError):
            wait()
    assert torch.cuda.Stream.query is before


def test_names_are_what_their_authors_wrote():
    assert graph_nodes.demangled("_ZN2at6native9sum_floatEf") == "at::native::sum_float(float)"
    assert graph_nodes.demangled("kernel_cutlass_gemm_0") == "kernel_cutlass_gemm_0"
