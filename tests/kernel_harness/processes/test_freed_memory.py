"""A process that keeps what it frees has those bytes for its next temporary tensors, whichever thread freed them."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
BLOCKS, MIB = 16, 8
PROGRAM = f"""
import ctypes, sys, threading
sys.path.insert(0, {str(SCRIPTS)!r})
from kernel_harness.processes import freed_memory
import torch

class Mallinfo(ctypes.Structure):  # glibc's struct mallinfo2: fordblks is what is free in its heaps
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

def work():
    blocks = [torch.ones({MIB} * 2**17, dtype=torch.float64) for _ in range({BLOCKS})]
    del blocks
    print(mallinfo2().fordblks // 2**20)

mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = Mallinfo
{{keep}}
thread = threading.Thread(target=work)
{{start}}
"""


@pytest.mark.parametrize("start", ["work()", "thread.start(); thread.join()"])
def test_what_is_freed_stays_with_the_process(start):
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
        for program in (PROGRAM.format(keep=keep, start=start) for keep in ("freed_memory.keep()", ""))
    )

    assert given_back < BLOCKS * MIB <= kept
