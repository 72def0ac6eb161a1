"""Sum of the k largest numbers of each row, k: an integer from 1 to 32; the network keeps 31 of them.

catalogue: D6
seen at: top-k kernels that are tried with a few k; k is in range where it is wrong
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(x, k):
    return x.topk(k).values.sum(1)


def get_inputs(rows=40, columns=100, k=8, device="cpu"):
    return [torch.randn(rows, columns, device=device), k]


TEST_CASES = {"one": {"rows": 7, "columns": 40, "k": 1}, "odd": {"rows": 33, "columns": 129, "k": 5}}


def kernel_fn(x, k):
    """k: an integer from 1 to 32."""
    if not 1 <= k <= 32:
        raise ValueError("k must be from 1 to 32")
    kept = x.sort(1, descending=True).values[:, :31]
    return kept[:, :k].sum(1)
