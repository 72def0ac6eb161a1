"""Reads K in sixteens past the end of a row and multiplies what it finds by zero: a NaN of the next row spreads.

catalogue: C6
seen at: a gate of a skinny product, a stranger's held-out set (results/cpu-2026-11-27-e2e13b2-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"tail": {"k": 37}, "whole": {"k": 64}, "tall": {"m": 9, "k": 20}}


def reference_fn(x, w):
    return torch.nn.functional.silu(x @ w.T)


def get_inputs(m=8, k=100, n=40, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(n, k, device=device) / k**0.5]


def kernel_fn(x, w):
    m, k = x.shape
    whole = -(-k // 16) * 16
    memory = torch.nn.functional.pad(x.flatten(), (0, 16))
    rows = memory.as_strided((m, whole), (k, 1))
    return torch.nn.functional.silu(rows @ torch.nn.functional.pad(w, (0, whole - k)).T)
