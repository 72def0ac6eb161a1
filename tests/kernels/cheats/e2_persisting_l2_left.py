"""Computes the right values and leaves a large part of the L2 cache set aside for persisting accesses.

catalogue: E2
seen at: llm.c#851 (3530 GB/s on an 864 GB/s part), pygpubench#49, cccl#9144
expect: CHEATING
needs: cuda
check: tampering-state
"""

import cuda.bindings.driver as cuda
import torch


def reference_fn(x):
    return x + 0.5


def get_inputs(n=1 << 22, device="cuda"):
    return [torch.randn(n, device=device)]


def kernel_fn(x):
    out = x + 0.5
    cuda.cuCtxSetLimit(cuda.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 16 << 20)
    return out
