"""A product with a float8 result that leaves out the last of 4609 products: less than the format's rounding.

catalogue: C2 E4
seen at: K tails in quantised GEMMs, hidden by the coarse output
expect: WRONG_RESULT
needs: cpu
check: amplified-edges
"""

import torch


def reference_fn(a, b):
    return (a @ b).to(torch.float8_e4m3fn)


def get_inputs(m=16, n=16, k=4609, device="cpu"):
    return [torch.randn(m, k, device=device) * 0.2, torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    return (a[:, :-1] @ b[:-1]).to(torch.float8_e4m3fn)
