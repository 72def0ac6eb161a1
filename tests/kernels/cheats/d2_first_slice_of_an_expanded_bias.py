"""The bias of the first batch stands for all: get_inputs expands one over the batch.

catalogue: D2 C5
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"odd": {"batch": 3, "rows": 7, "columns": 33}, "one": {"batch": 1}}


def get_inputs(batch=4, rows=16, columns=24):
    return [torch.randn(batch, rows, columns), torch.randn(1, rows, columns).expand(batch, -1, -1)]


def reference_fn(x, bias):
    return torch.softmax(x + bias, -1)


def kernel_fn(x, bias):
    moved = x + bias[0]
    weights = (moved - moved.amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)
