"""Right for narrow rows; the path for wide rows, which only the second case takes, leaves the maximum out of softmax.

catalogue: B8 D5
seen at: kernels that choose a path by shape; hostile data reaches the first case alone
expect: WRONG_RESULT
needs: cpu
check: hostile-every-case
"""

import torch

TEST_CASES = {"narrow": {}, "wide": {"cols": 2048}}


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=32, cols=128, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if x.shape[-1] <= 1024:
        return torch.softmax(x, dim=-1)
    e = torch.exp(x)
    return e / e.sum(-1, keepdim=True)
