"""The simulator against outputs of an H200: every kernel whose recorded outputs agreed bit by bit still agrees."""

import json
from pathlib import Path

import group_corpus
import lane_corpus
import pytest

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
