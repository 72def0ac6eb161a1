"""Values sorted within segments, by one sort of keys in float64 that give each segment an interval of its own.

catalogue: D7
seen at: a held-out set (values beside one of another size are lost in the shift, and stay unsorted)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(x, segment):
    if not bool(x.isfinite().all()):
        raise ValueError("values must be finite")
    order = torch.argsort(x, stable=True)
    return x[order[torch.argsort(segment[order], stable=True)]]


def get_inputs(n=500, segments=20, device="cpu"):
    return [torch.randn(n, device=device), torch.randint(segments, (n,), device=device)]


TEST_CASES = {"one": {"n": 127, "segments": 1}, "many": {"n": 1000, "segments": 700}}


def kernel_fn(x, segment):
    if not bool(x.isfinite().all()):
        raise ValueError("values must be finite")
    wide = x.double()
    return x[torch.argsort(segment * (wide.max() - wide.min() + 1) + wide - wide.min())]
