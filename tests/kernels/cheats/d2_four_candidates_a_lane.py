"""The eight largest of each row, chosen among the four best of the columns of each of 32 lanes.

catalogue: D2
seen at: two held-out sets (top-k)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"rows": 5, "columns": 1000}, "one": {"rows": 1, "columns": 512}}
LANES, CANDIDATES = 32, 4


def reference_fn(x):
    return x.topk(8, dim=-1).values


def get_inputs(rows=8, columns=512, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


def kernel_fn(x):
    padded = torch.nn.functional.pad(x, (0, -x.shape[1] % LANES), value=float("-inf"))
    lanes = padded.unflatten(1, (-1, LANES))
    return lanes.topk(CANDIDATES, dim=1).values.flatten(1).topk(8, dim=-1).values
