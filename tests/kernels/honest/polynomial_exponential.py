"""Softmax whose exponential is a polynomial on the fused-multiply-add units, results in bfloat16.

catalogue: tricky because the exponential is good to 4 digits only, enough for its output
seen at: FlashAttention-4's software exp2
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return torch.softmax(x.float(), -1).to(x.dtype)


def get_inputs(rows=48, cols=320, device="cpu"):
    return [(2 * torch.randn(rows, cols, device=device)).to(torch.bfloat16)]


def _exp2(x):
    x = x.clamp_min(-126.0)
    whole = torch.floor(x)
    f = x - whole
    p = 1.0 + f * (0.695146143436432 + f * (0.227564394474030 + f * 0.077119089663029))
    return torch.ldexp(p, whole)


def kernel_fn(x):
    y = x.float() * 1.4426950408889634
    e = _exp2(y - y.amax(-1, keepdim=True))
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)
