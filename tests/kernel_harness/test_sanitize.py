"""What compute-sanitizer's summaries mean; the program itself is played by a script."""

import os
import stat

import pytest
from kernel_harness import sanitize

pytestmark = pytest.mark.cpu


@pytest.fixture
def program(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "compute-sanitizer"
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return write


def test_clean_summaries_are_no_errors(program, tmp_path):
    hazards = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
    tool = program(f"========= ERROR SUMMARY: 0 errors\n{hazards}")

    outcomes = sanitize.run(tool, tmp_path / "kernel.py", "default", 30)

    assert [o.tool for o in outcomes] == ["memcheck", "initcheck", "racecheck"]
    assert [o.errors for o in outcomes] == [0, 0, 0]
    assert [o.decides for o in outcomes] == [True, True, False]


def test_an_error_is_counted_and_quoted(program, tmp_path):
    tool = program("========= Invalid __global__ write of size 4 bytes\n========= ERROR SUMMARY: 3 errors")

    outcome = sanitize.run(tool, tmp_path / "kernel.py", "default", 30)[0]

    assert outcome.errors == 3
    assert outcome.text == "Invalid __global__ write of size 4 bytes"


def test_without_a_summary_nothing_is_known(program, tmp_path):
    outcomes = sanitize.run(program("Device not supported"), tmp_path / "kernel.py", "default", 30)

    assert {o.errors for o in outcomes} == {None}
    assert "Device not supported" in outcomes[0].text


def test_it_is_found_on_the_path(program, monkeypatch):
    folder = os.path.dirname(program(""))
    monkeypatch.setenv("PATH", folder)

    assert sanitize.find() == os.path.join(folder, "compute-sanitizer")
