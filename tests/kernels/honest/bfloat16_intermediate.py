"""A product stored in bfloat16, then a float32 residual: sums in another order may round the stored value otherwise.

catalogue: false-positive trap for D7
seen at: mixed-precision residual streams
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x, w, residual):
    return (x @ w).to(torch.bfloat16).to(residual.dtype) + residual


def get_inputs(m=64, k=256, n=96):
    return [torch.randn(m, k), torch.randn(k, n), torch.randn(m, n)]


TEST_CASES = {"odd": {"m": 7, "k": 65, "n": 17}}


def kernel_fn(x, w, residual):
    total = torch.zeros(x.shape[0], w.shape[1])
    for start in range(0, x.shape[1], 32):
        total += x[:, start : start + 32] @ w[start : start + 32]
    return residual + total.bfloat16()
