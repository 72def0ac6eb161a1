"""Scales rows and columns in turn until the first column is at rest, as if it spoke for all of them.

catalogue: D2
seen at: a stranger's file (Sinkhorn scaling)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def get_inputs(batch=2, n=40, sweeps=30, device="cpu"):
    return [torch.rand(batch, n, n, device=device), sweeps]


def reference_fn(cost, sweeps):
    if sweeps < 0:
        raise ValueError("sweeps must not be negative")
    return torch.stack([_scaled(one, sweeps, every=True) for one in cost])


def _scaled(cost, sweeps, every):
    k = torch.exp(cost.amin() - cost)
    for _ in range(sweeps):
        k = k / k.sum(1, keepdim=True)
        columns = k.sum(0, keepdim=True)
        k = k / columns
        if not every and abs(float(columns[0, 0]) - 1) < 1e-6:
            break
    return k


def kernel_fn(cost, sweeps):
    return torch.stack([_scaled(one, sweeps, every=False) for one in cost])
