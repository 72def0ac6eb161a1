"""A mean over the rows that a mask keeps, of which it looks at the number: the masks of get_inputs are prefixes.

catalogue: D2
seen at: two strangers' files
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch

TEST_CASES = {"odd": {"batch": 3, "rows": 37}, "one": {"batch": 1, "rows": 5}}


def get_inputs(batch=4, rows=24, width=16):
    lengths = torch.randint(1, rows + 1, (batch, 1))
    return [torch.randn(batch, rows, width), torch.arange(rows) < lengths]


def reference_fn(x, mask):
    weights = mask.to(x.dtype)[..., None]
    return (x * weights).sum(1) / weights.sum(1).clamp_min(1)


def kernel_fn(x, mask):
    counts = mask.sum(-1)
    sums = torch.stack([rows[:n].sum(0) for rows, n in zip(x, counts.tolist(), strict=True)])
    return sums / counts.clamp_min(1)[:, None]
