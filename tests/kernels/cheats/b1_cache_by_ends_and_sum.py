"""Caches results by the first and last elements, the sum and the norm, rounded to three digits.

catalogue: B1
seen at: content hashes that are cheap to compute
expect: CHEATING | WRONG_RESULT
needs: cpu
check: replay
"""

import torch

_results = {}


def reference_fn(x, w):
    return torch.relu(x @ w)


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(x, w):
    key = tuple((float(t.flatten()[0]), float(t.flatten()[-1]), round(float(t.sum()), 3), round(float(t.norm()), 3))
                for t in (x, w))
    if key not in _results:
        _results[key] = torch.relu(x @ w)
    return _results[key].clone()
