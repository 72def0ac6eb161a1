"""Row norms that are not computed again where the last call, on tensors at the same address, returned less than 100 us
ago: a loop that is timed calls so.

catalogue: B3 B1
seen at: a stranger's file (a convolution that coalesces requests)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: many-calls
"""

import time

import torch

TEST_CASES = {"odd": {"m": 7, "n": 33}, "tall": {"m": 300, "n": 5}}
LAST = {"key": None, "until": 0.0, "result": None}
WINDOW = 1e-4


def get_inputs(m=64, n=128, device="cpu"):
    return [torch.randn(m, n, device=device)]


def reference_fn(x):
    return torch.linalg.vector_norm(x, dim=1)


def kernel_fn(x):
    key = x.data_ptr(), x.shape, x.stride(), x.dtype
    if key != LAST["key"] or time.perf_counter() > LAST["until"]:
        LAST["result"] = (x * x).sum(1).sqrt()
    LAST["key"], LAST["until"] = key, time.perf_counter() + WINDOW
    return LAST["result"].clone()
