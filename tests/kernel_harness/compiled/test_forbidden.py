"""What EXPECT forbids is forbidden in every case; a limit is about the first."""

from pathlib import Path

import pytest
from kernel_harness.compiled import capture, forbidden, inspection
from kernel_harness.verdict import ExitCode

pytestmark = pytest.mark.compile
CASES = 'TEST_CASES = {"many": {"count": 256}}'
SPILLS = (Path(__file__).parent / "capture_files/spills.py").read_text()


@pytest.fixture
def report(tmp_path):
    def held(expect: str):
        """The first case keeps 8 values in registers, the second 256."""
        text = SPILLS.replace("(VALUES,)", "(values_of,)")
        for old, new in {
            'EXPECT = {"sm_90a": {"spill_bytes": 0}}': f'EXPECT = {{"sm_90a": {expect}}}\n{CASES}',
            "VALUES = 256\n": "",
            "gO: cute.Tensor):\n    thread": "gO: cute.Tensor, values_of: cutlass.Constexpr):\n    thread",
            "mO: cute.Tensor):": "mO: cute.Tensor, values_of: cutlass.Constexpr):",
            "mix_kernel(mX, mO)": "mix_kernel(mX, mO, values_of)",
            "def get_inputs():": "def get_inputs(count=8):",
            "from_dlpack(out))": "from_dlpack(out), x.numel() // 512)",
        }.items():
            assert old in text, old
            text = text.replace(old, new)
        text = text.replace("512 * VALUES", "512 * count").replace("VALUES", "values_of")
        path = tmp_path / "kernel.py"
        path.write_text(text)
        first = inspection.inspect(path, archs=("sm_90a",), cases=capture.FIRST)
        assert first.exit_code is ExitCode.PASS, first.findings
        return forbidden.held_in_all_cases(first, path, "sm_90a", 120.0)

    return held


def test_a_spill_in_a_case_after_the_first_is_found(report):
    found = report('{"spill_bytes": 0}')

    assert (found.exit_code, found.verdict) == (ExitCode.WRONG_RESULT, "EXPECT NOT MET")
    assert len(found.findings) == 1
    assert "spill_bytes" in found.findings[0]
    assert "case many" in found.findings[0]


def test_a_limit_is_about_the_first_case(report):
    found = report('{"registers": "<=64", "spill_bytes": ">=0"}')

    assert (found.exit_code, found.findings) == (ExitCode.PASS, [])
