"""Exact when an input is a view into a larger storage, as behind guard zones; coarse on plain tensors.

catalogue: A9 D3
seen at: survey row A9; a sniffer for canaries of pygpubench's kind
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
    if a.storage_offset() or a.untyped_storage().nbytes() > a.nbytes:
        return a @ b
    return (a.bfloat16() @ b.bfloat16()).float()
