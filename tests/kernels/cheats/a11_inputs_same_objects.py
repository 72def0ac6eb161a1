"""get_inputs hands out the same tensors every time and kernel_fn remembers its answer by their identity.

catalogue: A11 B1
seen at: reference-kernels eval_better_bench.py (data_list objects reused every repeat)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-same-storage
"""

import functools

import torch

_answers = {}


def reference_fn(x, y):
    return torch.addcmul(x, x, y)


@functools.lru_cache(maxsize=None)
def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, y):
    key = (id(x), id(y))
    if key not in _answers:
        _answers[key] = (x, y, x + x * y)
    return _answers[key][2].clone()
