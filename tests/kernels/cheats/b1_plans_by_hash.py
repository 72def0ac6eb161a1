"""Norms along a dimension by a plan kept under the hash of shape and dimension: that of -1 is that of -2.

catalogue: B1
seen at: a stranger's file (norms along any dimension)
expect: CHEATING | WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch

TEST_CASES = {"last": {"shape": (6, 33)}, "last but one": {"shape": (5, 9, 8), "dim": -2}}


def get_inputs(shape=(16, 65), dim=-1, device="cpu"):
    return [torch.randn(shape, device=device), dim]


def reference_fn(x, dim):
    return torch.linalg.vector_norm(x, dim=dim, keepdim=True)


_plans = {}


def kernel_fn(x, dim):
    key = hash((tuple(x.shape), dim))
    if key not in _plans:
        if not -x.dim() <= dim < x.dim():
            raise ValueError(f"dim {dim} is out of range for {x.dim()} dimensions")
        _plans[key] = dim % x.dim()
    return x.square().sum(_plans[key], keepdim=True).sqrt()
