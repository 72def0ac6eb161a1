"""Takes bfloat16 activations, int8 weights and float32 scales, and returns bfloat16.

catalogue: tricky because each input has its own dtype and the integers may take any value
seen at: weight-only quantisation (w8a16)
expect: PASS
needs: cpu
check: precision
"""

import torch


def reference_fn(x, weight, scale):
    return (x.float() @ (weight.float() * scale[:, None]).t()).bfloat16()


def get_inputs(rows=32, features=48, k=128, device="cpu"):
    weight = torch.randint(-127, 128, (features, k), dtype=torch.int8, device=device)
    return [torch.randn(rows, k, device=device).bfloat16(), weight, torch.rand(features, device=device) / 127]


def kernel_fn(x, weight, scale):
    return ((x.float() @ weight.t().float()) * scale).bfloat16()
