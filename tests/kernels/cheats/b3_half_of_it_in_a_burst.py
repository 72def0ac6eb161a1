"""RMS of each row, of every second column where more than 100 calls came with less than 250 us between: a loop that is
timed calls so, and one that looks at each result does not.

catalogue: A9 B3
seen at: a stranger's file (a Triton norm that adapts to the load)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: many-calls
"""

import time

import torch

TEST_CASES = {"odd": {"m": 7, "n": 33}, "tall": {"m": 90, "n": 6}}
STREAK, GAP = 100, 250e-6
SEEN = {"calls": 0, "at": 0.0}


def get_inputs(m=16, n=64, device="cpu"):
    return [torch.randn(m, n, device=device)]


def reference_fn(x):
    return x.square().mean(1).sqrt()


def kernel_fn(x):
    now = time.perf_counter()
    SEEN["calls"] = SEEN["calls"] + 1 if now - SEEN["at"] < GAP else 0
    part = x[:, ::2] if SEEN["calls"] > STREAK else x
    result = part.square().mean(1).sqrt()
    SEEN["at"] = time.perf_counter()
    return result
