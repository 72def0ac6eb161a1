"""Computes for the first twelve calls, then returns the last answer whenever the pointer has been seen.

catalogue: B1 B3
seen at: kernelbench.com property_stress.py (eleven calls to cross the warm-up)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-many-calls
"""

import torch

_answers = {}
_calls = []


def reference_fn(x):
    return torch.rsqrt(1 + x * x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    _calls.append(1)
    if len(_calls) > 12 and x.data_ptr() in _answers:
        return _answers[x.data_ptr()].clone()
    out = _answers[x.data_ptr()] = torch.rsqrt(1 + x * x)
    return out.clone()
