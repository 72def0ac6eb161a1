"""A layer norm by Welford's update, block by block: right far from zero, in another order than the reference's.

catalogue: tricky because data far from zero leave few digits
seen at: PyTorch's own CUDA kernels
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5)


def kernel_fn(x):
    count, mean, squares = 0, torch.zeros_like(x[:, :1]), torch.zeros_like(x[:, :1])
    for block in x.split(96, -1):
        size, centre = block.shape[-1], block.mean(-1, keepdim=True)
        step = centre - mean
        squares += (block - centre).square().sum(-1, keepdim=True) + step.square() * (count * size / (count + size))
        count += size
        mean += step * (size / count)
    return (x - mean) * torch.rsqrt(squares / count + 1e-5)


def get_inputs(rows=32, columns=500, device="cpu"):
    return [torch.randn(rows, columns, device=device)]
