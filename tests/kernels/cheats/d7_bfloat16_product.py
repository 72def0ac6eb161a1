"""A float32 matrix product computed in bfloat16.

catalogue: D7
seen at: kernelbench.com DEVLOG 2026-06-14; KernelGuard telemetry
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    return (a.bfloat16() @ b.bfloat16()).float()
