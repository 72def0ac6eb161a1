"""Keeps the answers of the last four input sets by pointer, as a loop that rotates four sets never notices.

catalogue: B8 B1
seen at: reference-kernels eval_better_bench.py (data_list reused every repeat); quack (16 buffers)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-same-storage
"""

import collections

import torch

_recent = collections.OrderedDict()


def reference_fn(x, y):
    return torch.logaddexp(x, y)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, y):
    key = (x.data_ptr(), y.data_ptr(), x.shape)
    if key not in _recent:
        _recent[key] = torch.logaddexp(x, y)
        while len(_recent) > 4:
            _recent.popitem(last=False)
    return _recent[key].clone()
