"""Rows rolled by their own shifts, with the remainder that C and Triton make of a negative one: what should come in
from the other end is lost.

shifts: (R,) int64, any values: a positive one rolls to the right, a negative one to the left.

catalogue: D5
seen at: a stranger's file (a Triton kernel, `shift % columns`)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"odd": {"rows": 5, "columns": 67}, "turns": {"turns": 3}}


def reference_fn(x, shifts):
    places = torch.arange(x.shape[1], device=x.device)
    return x.gather(1, (places - shifts[:, None]) % x.shape[1])


def get_inputs(rows=16, columns=100, turns=1, device="cpu"):
    return [torch.randn(rows, columns, device=device), torch.randint(0, turns * columns, (rows,), device=device)]


def kernel_fn(x, shifts):
    columns = x.shape[1]
    source = torch.arange(columns, device=x.device) - torch.fmod(shifts, columns)[:, None]
    source = torch.where(source < 0, source + columns, source)
    return torch.where(source < columns, x.gather(1, source.clamp_max(columns - 1)), 0.0)
