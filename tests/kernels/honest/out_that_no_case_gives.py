"""Scales rows, into a tensor that is handed in where one is; no case hands one in.

catalogue: tricky because kernel and reference both write to an argument that MUTATES does not name
seen at: PyTorch's own out= operators
expect: PASS
needs: cpu
check: reference-mutation
"""

import torch

TEST_CASES = {"odd": {"rows": 7, "columns": 33}, "one": {"rows": 1, "columns": 1}}


def get_inputs(rows=20, columns=50, device="cpu"):
    return [torch.randn(rows, columns, device=device), torch.randn(rows, device=device)]


def reference_fn(x, scale, out=None, bias=None):
    result = x * scale[:, None] if bias is None else x * scale[:, None] + bias
    return result if out is None else out.copy_(result)


def kernel_fn(x, scale, out=None, bias=None):
    if out is not None and (out.shape != x.shape or out.dtype != x.dtype):
        raise ValueError("out must have the shape and dtype of x")
    result = torch.einsum("rc,r->rc", x, scale)
    result = result if bias is None else result.add_(bias)
    return result if out is None else out.copy_(result)
