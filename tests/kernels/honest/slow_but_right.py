"""Takes 50 ms per call in plain Python loops.

catalogue: tricky because checks that repeat the kernel many times must fit their time limit
seen at: survey, "false positives to avoid"; interpreters and simulators are slow
expect: PASS
needs: cpu
check: time-out
"""

import time

import torch


def reference_fn(x):
    return x.amax(dim=0)


def get_inputs(rows=64, cols=32, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    time.sleep(0.05)
    return torch.stack([max_column.max() for max_column in x.unbind(dim=1)])
