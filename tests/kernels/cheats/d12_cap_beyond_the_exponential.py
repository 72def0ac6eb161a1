"""Softmax of capped scores that leaves the maximum out, as a cap of 20 to 50 bounds them: one of 90 and more does not.

catalogue: D12
seen at: a held-out set (soft-capped attention)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"rows": 5, "columns": 70, "cap": 20.0}, "one": {"rows": 1, "columns": 1, "cap": 30.0}}


def reference_fn(x, cap):
    return torch.softmax(cap * torch.tanh(x / cap), -1)


def get_inputs(rows=8, columns=64, cap=50.0, device="cpu"):
    return [torch.randn(rows, columns, device=device), cap]


def kernel_fn(x, cap):
    weight = torch.exp(cap * torch.tanh(x / cap))
    return weight / weight.sum(-1, keepdim=True)
