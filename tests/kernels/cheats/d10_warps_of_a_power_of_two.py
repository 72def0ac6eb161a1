"""Rows divided by their sums; of three, five, six or seven warps only the first two or four are added up.

catalogue: D10
seen at: a stranger's file (L1 normalisation)
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch

TEST_CASES = {f"{m}x{n}": {"rows": m, "columns": n} for m, n in ((1, 4), (9, 100), (5, 252), (3, 500), (2, 4100))}


def get_inputs(rows=7, columns=1000, device="cpu"):
    return [torch.rand(rows, columns, device=device) + 0.1]


def reference_fn(x):
    return x / x.sum(1, keepdim=True)


def kernel_fn(x):
    warps = min(8, -(-x.shape[1] // 128))
    sums = [x[:, 128 * warp : x.shape[1] if warp == 7 else 128 * (warp + 1)].sum(1) for warp in range(warps)]
    return x / sum(sums[: 1 << (warps.bit_length() - 1)])[:, None]
