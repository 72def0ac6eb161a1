"""Looks whether fresh memory comes filled with NaN; only then, being watched, it is exact.

catalogue: A9
seen at: survey row A9; a sniffer for the checks of helion#1334's kind
expect: WRONG_RESULT | CHEATING
needs: cpu
check: sniffing
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    fresh = torch.empty(64, device=a.device)
    if fresh.isnan().all() or (fresh == fresh[0]).all() and float(fresh[0]) != 0:
        return a @ b
    return (a.bfloat16() @ b.bfloat16()).float()
