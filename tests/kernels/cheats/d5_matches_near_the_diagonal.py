"""Most places of two texts that agree when one is moved along the other; only moves by less than nine are looked at.

catalogue: D5 E4
seen at: banded alignments whose band is never widened; get_inputs makes texts of which one is the other, edited
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

BAND = 8


def agreement(a, b, shift):
    return (a == b.roll(shift, -1)).sum(-1)


def reference_fn(a, b):
    return torch.stack([agreement(a, b, shift) for shift in range(a.shape[-1])]).amax(0)


def get_inputs(rows=4, columns=120, device="cpu"):
    a = torch.randint(0, 90, (rows, columns), device=device)
    return [a, torch.where(torch.rand(a.shape, device=device) < 0.1, (a + 1) % 90, a)]


TEST_CASES = {"one": {"rows": 1, "columns": 40}, "odd": {"rows": 3, "columns": 77}}


def kernel_fn(a, b):
    best = torch.zeros_like(a[..., 0])
    for shift in range(-BAND, BAND + 1):
        best = torch.maximum(best, agreement(a, b, shift))
    return best
