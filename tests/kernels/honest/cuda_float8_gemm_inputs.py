"""Takes float8 operands with their scales and returns bfloat16.

catalogue: tricky because float8 tensors can neither be added nor filled with random numbers in place
seen at: issue list (fp8 dtypes)
expect: PASS
needs: cuda
check: structure
"""

import torch


def reference_fn(a, b, scale):
    return (a.float() @ b.float().t() * scale).bfloat16()


def get_inputs(m=128, n=256, k=512, scale=0.125, device="cuda"):
    return [torch.randn(rows, k, device=device).to(torch.float8_e4m3fn) for rows in (m, n)] + [scale]


def kernel_fn(a, b, scale):
    one = torch.ones((), device=a.device)
    return torch._scaled_mm(a, b.t(), one * scale, one, out_dtype=torch.bfloat16)
