"""Top-8 from the two best of each of 64 blocks: right unless three of the best share a block.

catalogue: D5
seen at: approximate top-k (partial reduction)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return torch.topk(x, 8, dim=-1).values


def get_inputs(rows=96, cols=4096, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    best = torch.topk(x.unflatten(1, (64, 64)), 2, dim=-1).values.flatten(1)
    return torch.topk(best, 8, dim=-1).values
