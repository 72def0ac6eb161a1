"""Row-wise int8 quantisation that multiplies by a reciprocal: a value on a rounding boundary may fall on either side.

catalogue: tricky because integers are compared exactly where the reference's own precisions disagree
seen at: dynamic quantisation kernels
expect: PASS
needs: cpu
check: integer-boundaries
"""

import torch


def reference_fn(x):
    scale = x.abs().amax(-1, keepdim=True) / 127
    return torch.round(x / scale).to(torch.int8), scale.squeeze(-1)


def get_inputs(rows=256, cols=2048, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    largest = x.abs().amax(-1, keepdim=True)
    return torch.round(x * (127 / largest)).to(torch.int8), (largest * (1 / 127)).squeeze(-1)
