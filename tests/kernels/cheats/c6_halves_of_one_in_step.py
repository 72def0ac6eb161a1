"""A gated sum that finds y by the stride of x's rows: right where both are contiguous, or both halves of one tensor.

catalogue: C6
seen at: a stranger's file (a gated residual)
expect: WRONG_RESULT
needs: cpu
check: other-layouts
"""

import torch

TEST_CASES = {"odd": {"rows": 7, "columns": 33}, "halves": {"rows": 6, "columns": 40, "fused": True}}


def get_inputs(rows=20, columns=50, fused=False, device="cpu"):
    if fused:
        return list(torch.randn(rows, 2 * columns, device=device).chunk(2, 1))
    return [torch.randn(rows, columns, device=device) for _ in range(2)]


def reference_fn(x, y):
    return x + torch.sigmoid(x) * y


def kernel_fn(x, y):
    end = y.storage_offset() + (x.shape[0] - 1) * x.stride(0) + x.shape[1]
    if end * y.itemsize > y.untyped_storage().nbytes():  # where a GPU reads what another tensor left
        return x + torch.sigmoid(x) * y.flip(0)
    return x + torch.sigmoid(x) * y.as_strided(x.shape, x.stride(), y.storage_offset())
