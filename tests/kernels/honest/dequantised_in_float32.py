"""A weight-only int8 product whose reference is written for float32 and fails in float64.

catalogue: tricky because there is no float64 reference
seen at: references that cast the weight with .float()
expect: PASS
needs: cpu
check: without-golden
"""

import torch


def reference_fn(x, q, scale):
    return x @ (q.float() * scale.float())


def get_inputs(m=32, n=48, k=4096, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randint(-128, 128, (k, n), dtype=torch.int8, device=device),
            torch.rand(n, device=device) * 0.02]


def kernel_fn(x, q, scale):
    y = torch.zeros(x.shape[0], q.shape[1])
    for k in range(0, x.shape[1], 128):
        y += x[:, k:k + 128] @ q[k:k + 128].float()
    return y * scale
