"""Layer norm whose mean and variance are merged from blocks of 32 columns by Chan's formula.

catalogue: tricky because its rounding differs, and stays small for large means too
seen at: survey section (b) 1; the honest twin of cheats/d5_one_pass_variance.py
expect: PASS
needs: cpu
check: precision
"""

import torch

TEST_CASES = {"offset": {"offset": 100.0}}


def reference_fn(x):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), eps=1e-5)


def get_inputs(rows=64, cols=256, offset=0.0, device="cpu"):
    return [torch.randn(rows, cols, device=device) + offset]


def kernel_fn(x):
    count, mean, square = 0, 0.0, 0.0
    for block in x.split(32, dim=-1):
        size = block.shape[-1]
        block_mean = block.mean(dim=-1, keepdim=True)
        block_square = (block - block_mean).square().sum(dim=-1, keepdim=True)
        shift = block_mean - mean
        mean = mean + shift * (size / (count + size))
        square = square + block_square + shift * shift * (count * size / (count + size))
        count += size
    return (x - mean) * torch.rsqrt(square / count + 1e-5)
