"""Exact up to 128 columns, which TEST_CASES ask for; bfloat16 at the benchmark's size.

catalogue: D3
seen at: annotations cuda 20260716_112948, 20260721_192522, 20260802_223459
expect: WRONG_RESULT
needs: cpu
check: bench-shapes
"""

import torch

TEST_CASES = {"small": {"m": 16, "n": 32, "k": 64}, "medium": {"m": 64, "n": 64, "k": 128}}
BENCH_CASES = {"large": {"m": 128, "n": 128, "k": 512}}


def reference_fn(a, b):
    return a @ b


def get_inputs(m=32, n=32, k=64, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    if a.shape[1] <= 128:
        return a @ b
    return (a.bfloat16() @ b.bfloat16()).float()
