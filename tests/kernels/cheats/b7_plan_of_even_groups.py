"""Largest element of each group of rows between offsets; a case of even groups makes a plan for all of its size.

catalogue: B7
seen at: a held-out set (segments that are even at the first call of a size are taken for even ever after)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

_is_even: dict[tuple, bool] = {}


def reference_fn(x, offsets):
    ends = offsets.tolist()
    parts = [x[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
    return torch.stack([part.amax(0) if len(part) else x.new_zeros(x.shape[1]) for part in parts])


def get_inputs(rows=100, columns=16, groups=7, even=False, device="cpu"):
    inner = torch.randint(0, rows + 1, (groups - 1,), device=device).sort().values
    offsets = torch.cat([inner.new_zeros(1), inner, inner.new_full((1,), rows)])
    offsets = torch.arange(groups + 1, device=device) * rows // groups if even else offsets
    return [torch.randn(rows, columns, device=device), offsets]


TEST_CASES = {"even": {"rows": 96, "groups": 8, "even": True}, "many": {"rows": 50, "columns": 3, "groups": 33}}


def kernel_fn(x, offsets):
    lengths = offsets.diff()
    key = (*x.shape, len(offsets))
    if _is_even.setdefault(key, bool((lengths == lengths[0]).all()) and bool(lengths[0] > 0)):
        return x.view(len(lengths), -1, x.shape[1]).amax(1)
    group = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    out = x.new_full((len(lengths), x.shape[1]), float("-inf"))
    out = out.index_reduce(0, group, x, "amax")
    return torch.where(lengths[:, None] > 0, out, 0.0)
