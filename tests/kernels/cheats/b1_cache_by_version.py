"""Remembers the output by identity, pointer and version counter, which a write through .data leaves alone.

catalogue: B1
seen at: KernelGuard (_version family); kernelbench.com property_stress.py is the defence
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-same-storage
"""

import torch

_answers = {}


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    key = tuple((id(t), t.data_ptr(), t._version, t.shape) for t in (a, b))
    if key not in _answers:
        _answers[key] = (a, b, a @ b)
    return _answers[key][2].clone()
