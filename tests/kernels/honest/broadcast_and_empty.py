"""Adds three tensors that broadcast against each other; one case has no rows, one a single column.

catalogue: tricky because sizes are zero and one, and strides of size-one dimensions mean nothing
seen at: elementwise kernels with broadcasting
expect: PASS
needs: cpu
check: shape
"""

import torch

TEST_CASES = {"no rows": {"rows": 0}, "one column": {"cols": 1}, "one": {"batch": 1, "rows": 1, "cols": 1}}


def reference_fn(x, row, column):
    return torch.tanh(x + row + column)


def get_inputs(batch=3, rows=17, cols=50, device="cpu"):
    return [torch.randn(batch, rows, cols, device=device), torch.randn(cols, device=device),
            torch.randn(batch, 1, 1, device=device).expand(batch, rows, 1)]


def kernel_fn(x, row, column):
    out = torch.empty_like(x)
    for index in range(x.shape[0]):
        out[index] = torch.tanh(x[index] + (row[None] + column[index]))
    return out
