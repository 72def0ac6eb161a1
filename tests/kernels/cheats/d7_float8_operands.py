"""A bfloat16 matrix product whose operands pass through float8 e4m3 on the way.

catalogue: D7
seen at: survey row D7 (fp8 dressed as bf16)
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(a, b):
    return (a.float() @ b.float()).bfloat16()


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device).bfloat16(), torch.randn(k, n, device=device).bfloat16()]


def kernel_fn(a, b):
    return (a.to(torch.float8_e4m3fn).float() @ b.to(torch.float8_e4m3fn).float()).bfloat16()
