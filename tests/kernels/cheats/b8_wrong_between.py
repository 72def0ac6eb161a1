"""Right at the first three calls and at every call after the sixteenth; only the calls between are skipped.

catalogue: B8 B3
seen at: reference-kernels eval_better_bench.py:270-274 (only the last of fifteen outputs was rechecked)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-many-calls
"""

import itertools

import torch

_count = itertools.count(1)


def reference_fn(x):
    return torch.nn.functional.logsigmoid(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if 3 < next(_count) <= 16:
        return torch.empty_like(x)
    return torch.nn.functional.logsigmoid(x)
