"""rsqrt(sum + eps) in place of 1 / max(norm, eps): another number where rows are tiny.

catalogue: D6
seen at: L2 normalisation (h200-2026-11-27-8092e1f-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return torch.nn.functional.normalize(x, dim=-1, eps=1e-12)


def get_inputs(rows=48, columns=130, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


def kernel_fn(x):
    return x * (x.square().sum(-1, keepdim=True) + 1e-12).rsqrt()
