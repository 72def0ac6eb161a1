"""What the order of Triton's programs hides in the interpreter, in a process of its own."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu
SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
PROGRAM = '''
import json, sys
sys.path.insert(0, {scripts!r})
from kernel_harness.observation import interpreter
interpreter.use()
import torch, triton, triton.language as tl
interpreter.mend()

@triton.jit
def kernel(x, out, count, BLOCK: tl.constexpr):
    program, at = tl.program_id(0), tl.arange(0, 16)
    {body}

x, out, count = torch.arange(64.0) + 1, torch.zeros(64), torch.zeros(1, dtype=torch.int32)
interpreter.taken()
with interpreter.launching({how!r}):
    kernel[(4,)](x, out, count, BLOCK=16)
print(json.dumps([interpreter.taken(), out.tolist(), interpreter.taken()]))
'''


def launched(body, how=""):
    with tempfile.TemporaryDirectory() as folder:  # Triton reads the source of a kernel: it must lie in a file
        path = Path(folder, "program.py")
        path.write_text(PROGRAM.format(scripts=str(SCRIPTS), body=body, how=how))
        run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_rows_of_their_own_are_no_race():
    seen, out, after = launched("tl.store(out + program * BLOCK + at, tl.load(x + program * BLOCK + at))")

    assert seen == {"launches": 1, "orders": False, "races": []}
    assert out[:2] + out[-1:] == [1.0, 2.0, 64.0]
    assert after["launches"] == 0


def test_updates_of_one_place_without_atomics_are():
    seen, out, _ = launched("tl.store(out + at, tl.load(out + at) + tl.load(x + program * BLOCK + at))")

    assert out[0] == 1 + 17 + 33 + 49
    assert seen["races"] == ["16 elements get different values from several programs of one launch of kernel, without "
                             "atomics (programs 0 and 1 the first of them)"]  # fmt: skip


@pytest.mark.parametrize("body", ["tl.store(out + at, 7.0)", "tl.store(out + at, 7.0, mask=program < 1)",
                                  "tl.store(out + program, 1.0); tl.store(out + program, 2.0)"])  # fmt: skip
def test_one_value_of_all_and_two_of_one_are_none(body):
    assert launched(body)[0]["races"] == []


def test_atomics_may_order_the_programs():
    seen = launched("tl.atomic_add(count, 1); tl.store(out + at, tl.load(out + at) + 1.0)")[0]

    assert seen == {"launches": 1, "orders": True, "races": []}


def test_the_last_programs_can_come_first():
    body = "tl.store(out + program, tl.atomic_add(count, 1).to(tl.float32))"

    assert launched(body)[1][:4] == [0, 1, 2, 3]
    assert launched(body, "turned")[1][:4] == [3, 2, 1, 0]
