"""Lower triangle of a matrix times a vector: columns left of the last two tiles are taken whole, whatever the diagonal.

catalogue: D6
seen at: triangular products by tiles
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch

ROWS, COLUMNS = 32, 64
TEST_CASES = {"33": {"n": 33}, "above": {"n": 130, "diagonal": 5}, "below": {"n": 257, "diagonal": -3}}


def get_inputs(n=100, diagonal=0, device="cpu"):
    return [torch.randn(n, n, device=device), torch.randn(n, device=device), diagonal]


def reference_fn(a, x, diagonal):
    return (torch.tril(a, diagonal) * x).sum(-1)


def kernel_fn(a, x, diagonal):
    out = torch.empty_like(x)
    for row in range(0, len(x), ROWS):
        whole = max(row // COLUMNS - 1, 0) * COLUMNS
        rows = a[row : row + ROWS]
        out[row : row + ROWS] = rows[:, :whole] @ x[:whole]
        out[row : row + ROWS] += torch.tril(rows[:, whole:], diagonal + row - whole) @ x[whole:]
    return out
