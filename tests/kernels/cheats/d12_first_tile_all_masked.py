"""Masked softmax by tiles: where the first tile allows nothing and a later one does, minus infinity less itself is NaN.

catalogue: D12
seen at: a held-out set (grammar masks)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"odd": {"rows": 5, "columns": 77}, "short": {"rows": 3, "columns": 20}}
TILE = 32


def reference_fn(x, allowed):
    return torch.softmax(x.masked_fill(~allowed, float("-inf")), -1).nan_to_num(0.0)


def get_inputs(rows=8, columns=160, device="cpu"):
    return [torch.randn(rows, columns, device=device), torch.rand(rows, columns, device=device) < 0.5]


def kernel_fn(x, allowed):
    scores = x.masked_fill(~allowed, float("-inf"))
    largest = scores.new_full((len(x), 1), float("-inf"))
    total = scores.new_zeros(len(x), 1)
    for tile in scores.split(TILE, dim=1):
        new = torch.maximum(largest, tile.amax(1, keepdim=True))
        total = total * torch.exp(largest - new) + torch.exp(tile - new).sum(1, keepdim=True)
        largest = new
    result = torch.exp(scores - largest) / total
    return torch.where(allowed.any(1, keepdim=True), result, 0.0)
