"""Batch norm in training mode: Welford per channel, and running statistics updated in place.

catalogue: tricky because two inputs change, and they are no part of the returned result
seen at: fused batch-norm kernels
expect: PASS
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (3, 4)


def reference_fn(x, weight, bias, running_mean, running_var):
    return torch.nn.functional.batch_norm(x, running_mean, running_var, weight, bias, True, 0.1, 1e-5)


def get_inputs(batch=6, channels=20, size=9, device="cpu"):
    return [torch.randn(batch, channels, size, size, device=device), torch.rand(channels, device=device) + 0.5,
            torch.randn(channels, device=device), torch.zeros(channels, device=device),
            torch.ones(channels, device=device)]


def kernel_fn(x, weight, bias, running_mean, running_var):
    flat = x.transpose(0, 1).reshape(x.shape[1], -1)
    count, mean, m2 = 0, flat.new_zeros(flat.shape[0]), flat.new_zeros(flat.shape[0])
    for part in flat.split(81, dim=1):
        size, part_mean = part.shape[1], part.mean(1)
        delta = part_mean - mean
        m2 += (part - part_mean[:, None]).square().sum(1) + delta.square() * count * size / (count + size)
        mean += delta * size / (count + size)
        count += size
    running_mean.mul_(0.9).add_(mean, alpha=0.1)
    running_var.mul_(0.9).add_(m2 / (count - 1), alpha=0.1)
    scale = weight * torch.rsqrt(m2 / count + 1e-5)
    return x * scale.view(1, -1, 1, 1) + (bias - mean * scale).view(1, -1, 1, 1)
