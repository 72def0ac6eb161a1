"""The k largest of each row, but of equal values always the index of the first, again and again.

catalogue: D5
seen at: a search for each value's position after the values are known
expect: WRONG_RESULT
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
    values = x.sort(dim=-1, descending=True).values[:, :k].contiguous()
    return values, (x[:, None] == values[..., None]).int().argmax(-1)
