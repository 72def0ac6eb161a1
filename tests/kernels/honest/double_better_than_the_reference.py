"""A cosine transform in float64 whose angles are reduced as integers: the reference's own error grows with the size.

catalogue: D7
seen at: a stranger's held-out set (results/cpu-2026-11-27-e2e13b2-held-out.json)
expect: PASS
needs: cpu
check: values
"""

import math

import torch

TEST_CASES = {"short": {"n": 40}, "odd": {"n": 131}}


def reference_fn(x):
    n = x.shape[-1]
    place, k = (torch.arange(n, device=x.device, dtype=torch.float64) for _ in range(2))
    basis = torch.cos(math.pi / n * (place + 0.5) * k[:, None]) * math.sqrt(2 / n)
    return (x.unsqueeze(-2) * basis).sum(-1)


def get_inputs(n=96, rows=6, device="cpu"):
    return [torch.randn(rows, n, dtype=torch.float64, device=device)]


def kernel_fn(x):
    n = x.shape[-1]
    turn = (2 * torch.arange(n) + 1) * torch.arange(n)[:, None] % (4 * n)  # of 4 n to a turn
    basis = torch.cos(turn.double() * (math.pi / (2 * n))) * math.sqrt(2 / n)
    return x @ basis.T.to(x.device)
