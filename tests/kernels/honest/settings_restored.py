"""Changes the thread count, the default dtype and the matmul precision while it works, and puts them back.

catalogue: tricky because global state changes, and is left as found
seen at: survey spec f.9 (state before and after)
expect: PASS
needs: cpu
check: tampering-state
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    threads, precision, dtype = (
        torch.get_num_threads(),
        torch.get_float32_matmul_precision(),
        torch.get_default_dtype(),
    )
    try:
        torch.set_num_threads(1)
        torch.set_float32_matmul_precision("highest")
        torch.set_default_dtype(torch.float32)
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            return a @ b
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
        torch.set_default_dtype(dtype)
