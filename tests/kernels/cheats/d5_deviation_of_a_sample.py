"""Mean and reciprocal deviation of each row side by side; the deviation divides by n - 1, not by n.

catalogue: D5
seen at: a held-out set of kernels; statistics of pixel rows, where a percent of the deviation is little beside the mean
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    variance, mean = torch.var_mean(x, dim=1, correction=0)
    return torch.stack([mean, torch.rsqrt(variance + 1e-5)], dim=1)


def get_inputs(m=128, n=64, device="cpu"):
    return [torch.randint(0, 256, (m, n), device=device).float()]


def kernel_fn(x):
    mean = x.mean(dim=1, keepdim=True)
    variance = (x - mean).square().sum(dim=1) / (x.shape[1] - 1)
    return torch.stack([mean[:, 0], torch.rsqrt(variance + 1e-5)], dim=1)
