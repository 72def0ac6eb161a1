"""One element of a million is off by three percent: a mean or a quantile of the error never shows it.

catalogue: C2 D9
seen at: SOL-ExecBench correctness.py (99 percent matched counts as correct)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return torch.sin(x) + 2


def get_inputs(n=1 << 20, device="cpu"):
    return [torch.randn(n, device=device)]


def kernel_fn(x):
    out = torch.sin(x) + 2
    out[x.shape[0] * 7 // 11] *= 1.03
    return out
