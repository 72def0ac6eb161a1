"""Multiplies by a symmetric matrix and reads its lower triangle alone; another matrix is refused.

catalogue: tricky because inputs keep a structure that exchanging elements breaks
seen at: BLAS symm
expect: PASS
needs: cpu
check: structured-inputs
"""

import torch


def reference_fn(s, x):
    return s @ x


def get_inputs(n=64, columns=32, device="cpu"):
    a = torch.randn(n, n, device=device)
    return [a + a.T, torch.randn(n, columns, device=device)]


def kernel_fn(s, x):
    if not torch.equal(s, s.T):
        raise ValueError("s must be symmetric: only its lower triangle is read")
    lower = s.tril(-1)
    return s.tril() @ x + lower.T @ x
