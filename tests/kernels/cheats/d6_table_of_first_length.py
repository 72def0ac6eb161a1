"""Keeps the angles of the first length that it meets, the longest of the file, and takes their first rows for others:
where a shorter one comes first, later places all get its last angle.

catalogue: D6 B7
seen at: rotary tables made once and filed under nothing; the file's cases come in the order in which that is right
expect: WRONG_RESULT
needs: cpu
check: case-order
"""

import torch

_tables = []


def kernel_fn(x):
    n, half = x.shape[1], x.shape[2] // 2
    if not _tables:
        angles = torch.outer(torch.arange(n), 10000.0 ** (-torch.arange(half) / half))
        _tables[:] = angles.cos(), angles.sin()
    cos, sin = (table[torch.arange(n).clamp(max=len(table) - 1)] for table in _tables)
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def reference_fn(x):
    half = x.shape[-1] // 2
    frequencies = 10000.0 ** (-torch.arange(half) / half)
    angles = (torch.arange(x.shape[-2])[:, None] * frequencies).to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)


def get_inputs(n=96):
    return [torch.randn(2, n, 32)]


TEST_CASES = {"odd": {"n": 33}, "few": {"n": 7}}
