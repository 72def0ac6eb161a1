"""Sums of segments as differences of one running sum: behind a large segment ordinary values lose their digits.

catalogue: D5
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"few": {"rows": 33, "segments": 2}, "many": {"segments": 60}}


def get_inputs(rows=120, columns=5, segments=12, device="cpu"):
    cuts = torch.randperm(rows - 1)[: segments - 1].sort().values + 1
    offsets = torch.cat((torch.tensor([0]), cuts, torch.tensor([rows])))
    return [torch.randn(rows, columns, device=device), offsets.to(device)]


def reference_fn(values, offsets):
    bounds = offsets.tolist()
    return torch.stack([values[a:b].sum(0) for a, b in zip(bounds, bounds[1:])])


def kernel_fn(values, offsets):
    running = torch.cat((values.new_zeros(1, values.shape[1]), values.cumsum(0)))
    at_ends = running[offsets]
    return at_ends[1:] - at_ends[:-1]
