"""Raises a clear ValueError for what it cannot do; every case that the file declares is one that it can.

catalogue: tricky because shapes, strides and dtypes outside the declared ones are refused
seen at: the templates' own rule (bad input gets a ValueError before any launch)
expect: PASS
needs: cpu
check: values
"""

import torch

TEST_CASES = {"wide": {"cols": 512}, "one_row": {"rows": 1}}


def reference_fn(x):
    return x.view(x.shape[0], -1, 32).amax(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if x.dtype != torch.float32:
        raise ValueError(f"x must be float32, not {x.dtype}; call x.float()")
    if x.shape[1] % 32:
        raise ValueError(f"x has {x.shape[1]} columns; pad them to a multiple of 32")
    if not x.is_contiguous():
        raise ValueError("x must be contiguous; call x.contiguous()")
    return torch.nn.functional.max_pool1d(x[:, None], 32)[:, 0]
