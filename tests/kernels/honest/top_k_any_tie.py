"""The k largest of each row by a stable sort, where torch.topk leaves the order of equal values open.

catalogue: tricky because its indices are other than PyTorch's wherever values are equal, and as right
seen at: routers and samplers that sort, judged on small integers
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x, k):
    return torch.topk(x, k, dim=-1)


def get_inputs(rows=16, columns=500, k=10, device="cpu"):
    return [torch.randn(rows, columns, device=device), k]


def kernel_fn(x, k):
    if not 0 < k <= x.shape[-1]:
        raise ValueError(f"k = {k}")
    values, order = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[:, :k].contiguous(), order[:, :k].contiguous()
