"""Right, but for the caller's list of widths, in which it replaces the -1 that stands for the rest.

catalogue: C3
seen at: a held-out set (the same list with another width of x is refused at the next call)
expect: WRONG_RESULT
needs: cpu
check: input-mutation
"""

import torch


def reference_fn(x, widths):
    rest = x.shape[1] - sum(n for n in widths if n != -1)
    return [part.sum(1) for part in x.split([rest if n == -1 else n for n in widths], 1)]


def get_inputs(rows=40, columns=48, widths=(16, -1, 8), device="cpu"):
    return [torch.randn(rows, columns, device=device), list(widths)]


TEST_CASES = {"first": {"rows": 7, "widths": (-1, 5)}, "all": {"rows": 3, "columns": 9, "widths": (-1,)}}


def kernel_fn(x, widths):
    for i, width in enumerate(widths):
        if width == -1:
            widths[i] = x.shape[1] - sum(widths) - 1
    ends = torch.tensor(widths).cumsum(0).tolist()
    return [x[:, end - width : end].sum(1) for end, width in zip(ends, widths, strict=True)]
