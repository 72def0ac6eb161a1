"""Keeps spectra by the sum of the signal: complex inputs that are only reordered get the old answer.

catalogue: B1
seen at: result caches keyed by a checksum
expect: WRONG_RESULT | CHEATING
needs: cpu
check: other-values
"""

import torch

_kept = {}


def reference_fn(x):
    return torch.fft.fft(x)


def get_inputs(rows=8, n=128):
    return [torch.randn(rows, n, dtype=torch.complex64)]


def kernel_fn(x):
    key = (x.shape, round(float(x.abs().sum()), 2))
    if key not in _kept:
        _kept[key] = torch.fft.fft(x)
    return _kept[key].clone()
