"""log(1 + |x|) in place of log1p(|x|): below 1e-7 nothing is left of x.

catalogue: D6
seen at: symmetric logarithms and softplus in float32 (h200-2026-11-27-8092e1f-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: values
level: paranoid
"""

import torch


def reference_fn(x):
    return x.sign() * x.abs().log1p()


def get_inputs(rows=48, columns=130, device="cpu"):
    return [3 * torch.randn(rows, columns, device=device)]


def kernel_fn(x):
    return x.sign() * (1 + x.abs()).log()
