"""Writes behind a result are seen in free memory. PyTorch's allocator on a GPU is played with memory of the CPU."""

from pathlib import Path

import pytest
import torch
from kernel_harness.judge.outcome import Outcome, Settings
from kernel_harness.judge.verification import Judge
from kernel_harness.observation import surroundings

pytestmark = pytest.mark.cpu

BYTE, BLOCK = 0x7B, 4096


@pytest.fixture
def allocator(monkeypatch):
    """A segment of three blocks, of which the middle one is in use; memory that is given out is counted."""

    class Played:
        memory, made, stream = torch.zeros(3 * BLOCK, dtype=torch.uint8), 0, 7

        def result(self, block: int, offset: int, nbytes: int) -> torch.Tensor:
            self.made += 1
            address = self.memory.data_ptr() + block * BLOCK + offset
            storage = torch._C._construct_storage_from_data_pointer(address, torch.device("cpu"), nbytes)
            return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (nbytes,), (1,))

    played = Played()
    states = ("inactive", "active_allocated", "inactive")
    segment = {"device": 0, "stream": 7, "address": played.memory.data_ptr(), "segment_pool_id": (0, 0),
               "blocks": [{"size": BLOCK, "state": state} for state in states]}  # fmt: skip
    monkeypatch.setattr(torch.cuda, "memory_snapshot", lambda: [segment])
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: type("Stream", (), {"cuda_stream": played.stream}))
    counted = lambda _: {"allocation": {"all": {"allocated": played.made}}}
    monkeypatch.setattr(torch.cuda, "memory_stats_as_nested_dict", counted)
    return played


def test_free_memory_alone_is_filled(allocator):
    surroundings.Surroundings(BYTE, "cpu")

    assert [set(block.tolist()) for block in allocator.memory.view(3, BLOCK)] == [{BYTE}, {0}, {BYTE}]


def test_memory_of_another_stream_is_left_alone(allocator):
    allocator.stream = 8
    around = surroundings.Surroundings(BYTE, "cpu")
    around.look([allocator.result(0, 0, 100)])

    assert not allocator.memory.any()
    assert around.written() == []


@pytest.mark.parametrize(("written", "found"), [
    (range(0, 100), []),
    (range(0, 102), [{"result": 0, "bytes": 2, "distance": 1}]),
    (range(120, 124), [{"result": 0, "bytes": 4, "distance": 21}]),
    (range(BLOCK, BLOCK + 8), []),  # of whoever has the next block: not to be looked at
])  # fmt: skip
def test_a_write_behind_the_result_is_found(allocator, written, found):
    around = surroundings.Surroundings(BYTE, "cpu")
    result = allocator.result(0, 0, 100)
    allocator.memory[list(written)] = 1
    around.look([result])

    assert around.written() == found


def test_a_second_result_is_no_write_behind_the_first(allocator):
    around = surroundings.Surroundings(BYTE, "cpu")
    results = [allocator.result(2, 512, 100), allocator.result(2, 0, 300)]
    allocator.memory[2 * BLOCK : 2 * BLOCK + 300] = 1
    allocator.memory[2 * BLOCK + 512 : 2 * BLOCK + 616] = 1
    around.look(results)

    assert around.written() == [{"result": 0, "bytes": 4, "distance": 1}]


def test_what_a_temporary_tensor_left_is_no_write(allocator):
    around = surroundings.Surroundings(BYTE, "cpu")
    allocator.result(0, 0, 400)
    allocator.memory[:400] = 1
    around.look([allocator.result(0, 0, 100)])

    assert around.written() == []


@pytest.mark.parametrize(("behind", "found"), [([], []), ([{"result": 0, "bytes": 4, "distance": 1}], ["guard-zone"])])
def test_a_write_behind_a_result_counts_against_the_kernel(behind, found):
    judge = Judge.__new__(Judge)
    judge.settings, judge.held = Settings(kernel=Path("kernel.py")), []
    judge.outcome = Outcome(judge.settings)
    facts = {"held": None, "state": [], "simulated": None, "busy_threads": 0.0, "python_threads": [], "behind": behind,
             "interpreted": {"races": []}}  # fmt: skip
    judge.process_facts(facts, "default")

    assert [finding.check for finding in judge.outcome.findings] == found
