"""Computes under inference_mode: the results are inference tensors, without version counters.

catalogue: tricky because such tensors refuse some of what a checker does with them
seen at: serving code around kernels
expect: PASS
needs: cpu
check: plain-result
"""

import torch


def reference_fn(x, w):
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), w, 1e-6)


def get_inputs(rows=50, cols=192, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.rand(cols, device=device) + 0.5]


@torch.inference_mode()
def kernel_fn(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w
