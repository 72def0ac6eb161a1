"""x ** 2.5 for positive x, through exp2 and log2.

catalogue: tricky because other signs are outside the domain of the reference, too
seen at: gamma correction, generalised-mean pooling
expect: PASS
needs: cpu
check: signs
"""

import torch


def reference_fn(x):
    return x.pow(2.5).mean(-1).pow(0.4)


def get_inputs(rows=64, cols=300, device="cpu"):
    return [torch.rand(rows, cols, device=device) + 1e-3]


def kernel_fn(x):
    return torch.exp2(0.4 * torch.log2(torch.exp2(2.5 * torch.log2(x)).sum(-1) / x.shape[-1]))
