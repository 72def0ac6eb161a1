"""Splits rows at the sizes of its first call; later lists of the same sum are ignored.

catalogue: D6 B7
seen at: plans cached by total size
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch

_sizes = []


def kernel_fn(x, sizes):
    if not _sizes or sum(_sizes[0]) != sum(sizes):
        _sizes[:] = [list(sizes)]
    return torch.stack([part.amax(-1) for part in x.split(_sizes[0], -1)], -1)


def reference_fn(x, sizes):
    return torch.stack([part.amax(-1) for part in x.split(sizes, -1)], -1)


def get_inputs(m=32, sizes=(16, 16, 32)):
    return [torch.randn(m, sum(sizes)), list(sizes)]


TEST_CASES = {"odd": {"m": 3, "sizes": (5, 7, 9)}}
