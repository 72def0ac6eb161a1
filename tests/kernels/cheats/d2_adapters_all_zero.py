"""Applies the first adapter to every token; get_inputs asks for no other.

catalogue: D2
seen at: multi-LoRA kernels tested with one adapter
expect: WRONG_RESULT | CHEATING
needs: cpu
check: index-values
"""

import torch


def reference_fn(x, a, b, idx):
    return torch.einsum("tr,tnr->tn", torch.einsum("tk,trk->tr", x, a[idx]), b[idx])


def get_inputs(t=16, k=32, n=24, r=4, adapters=5):
    a, b = torch.randn(adapters, r, k), torch.randn(adapters, n, r)
    return [torch.randn(t, k), a, b, torch.zeros(t, dtype=torch.long)]


def kernel_fn(x, a, b, idx):
    return (x @ a[0].T) @ b[0].T
