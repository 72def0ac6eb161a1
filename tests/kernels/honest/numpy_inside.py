"""Goes through numpy and a preallocated work array, and returns a tensor over numpy's memory.

catalogue: tricky because the result's memory is none of torch's
seen at: CPU reference kernels, bindings by ctypes and cffi
expect: PASS
needs: cpu
check: plain-result
"""

import numpy as np
import torch


def reference_fn(x, y):
    return torch.cdist(x[None], y[None], compute_mode="donot_use_mm_for_euclid_dist")[0].square()


def get_inputs(m=30, n=41, k=24, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(n, k, device=device)]


def kernel_fn(x, y):
    a, b = x.numpy().astype(np.float64), y.numpy().astype(np.float64)
    work = np.empty((a.shape[0], b.shape[0]))
    np.matmul(a, b.T, out=work)
    squared = (a * a).sum(1)[:, None] + (b * b).sum(1)[None] - 2 * work
    return torch.from_numpy(np.maximum(squared, 0).astype(np.float32))
