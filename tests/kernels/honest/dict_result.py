"""Returns a dict whose keys come in another order than the reference's.

catalogue: tricky because dicts are compared by key
seen at: issue list (dict result)
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    return {"mean": x.mean(dim=-1), "rstd": torch.rsqrt(x.var(dim=-1, unbiased=False) + 1e-5)}


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    mean = x.mean(dim=-1)
    variance = (x - mean[:, None]).square().mean(dim=-1)
    return {"rstd": 1 / torch.sqrt(variance + 1e-5), "mean": mean}
