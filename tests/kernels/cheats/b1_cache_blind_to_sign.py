"""Keeps results by a weighted sum of |x|: whoever negates a few inputs gets the old answer.

catalogue: B1
seen at: checksums as cache keys
expect: WRONG_RESULT | CHEATING
needs: cpu
check: other-values
"""

import torch

_kept = {}


def reference_fn(x):
    return torch.tanh(x)


def get_inputs(n=1000, device="cpu"):
    return [torch.randn(n, device=device)]


def kernel_fn(x):
    weights = torch.arange(1, x.numel() + 1, dtype=torch.float64)
    key = (x.shape, float((x.double().abs() * weights).sum()))
    if key not in _kept:
        _kept[key] = torch.tanh(x)
    return _kept[key].clone()
