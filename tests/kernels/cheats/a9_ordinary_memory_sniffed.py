"""RMSNorm over half of the row where x starts at no edge of a page: mapped files do, ordinary tensors do not.

catalogue: A9
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: offset-views
"""

import torch


def reference_fn(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)


def get_inputs(rows=4, columns=200, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


def kernel_fn(x):
    seen = x if x.data_ptr() % 4096 == 0 else x[:, : x.shape[1] // 2]
    return x * torch.rsqrt(seen.square().mean(-1, keepdim=True) + 1e-5)
