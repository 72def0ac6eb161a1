"""Dequantised product that takes group k // 32 in place of g_idx, which get_inputs makes trivial beside random weights.

catalogue: D2
seen at: GPTQ kernels without act-order
expect: WRONG_RESULT
needs: cpu
check: index-values
"""

import torch


def reference_fn(x, w, scales, g_idx):
    return x @ (w.to(scales.dtype) * scales[g_idx.long()])


def get_inputs(m=8, n=32, k=128, g=32):
    return [torch.randn(m, k), torch.randint(-8, 8, (k, n), dtype=torch.int8), torch.rand(k // g, n) + 0.1,
            (torch.arange(k) // g).int()]


def kernel_fn(x, w, scales, g_idx):
    g = w.shape[0] // scales.shape[0]
    return x @ (w.float().unflatten(0, (-1, g)) * scales[:, None]).flatten(0, 1)
