"""The simulator against outputs of an H200: every kernel whose recorded outputs agreed bit by bit still agrees."""

import json
from pathlib import Path

import group_corpus
import lane_corpus
import programs
import pytest
import torch

pytestmark = pytest.mark.cpu

RESULTS = Path(__file__).resolve().parents[3] / "results"


def recorded():
    """{case name: digest of the GPU's outputs} of all evidence, of each case the newest."""
    files = sorted(RESULTS.glob("h200-*-simulator.json"))
    rows = {row["case"]: row for file in files for row in json.loads(file.read_text())["cases"] if "gpu_sha256" in row}
    return {case: row["gpu_sha256"] for case, row in rows.items() if row["different_bits"] == 0}


def test_outputs_are_still_those_of_the_gpu():
    digests = recorded()
    cases = lane_corpus.lane_cases() + group_corpus.group_cases() + group_corpus.unelected_cases()
    checked = [case for case in cases if case.name in digests]
    assert len(checked) >= 400
    wrong = [
        case.name for case in checked if lane_corpus.digest(lane_corpus.run_simulated(case)[0]) != digests[case.name]
    ]
    assert not wrong


def test_whole_programs_gave_what_the_gpu_gave_up_to_the_rule():
    files = sorted(RESULTS.glob("h200-*-simulator.json"))
    rows = {row["case"]: row for file in files for row in json.loads(file.read_text())["cases"] if "beyond" in row}
    assert len(rows) >= 60
    assert [case for case, row in rows.items() if row["beyond"] or row["findings"]] == []


@pytest.mark.parametrize(("real", "simulated", "wrong"), [
    ([1.0, 256.0], [1.0078125, 256.0], 0),  # one step of bfloat16
    ([1.0, 256.0], [1.015625, 256.0], 1),
    ([1.0, 256.0], [float("nan"), 256.0], 1),
    ([float("inf"), float("nan")], [float("inf"), float("nan")], 0),
    ([float("inf"), 1.0], [-float("inf"), 1.0], 1),
])  # fmt: skip
def test_the_rule(real, simulated, wrong):
    real, simulated = (torch.tensor(values, dtype=torch.bfloat16) for values in (real, simulated))
    assert programs.beyond(real, simulated) == wrong
