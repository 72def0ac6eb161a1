"""Lists of numbers, found in two ways; one helper lays those of either out in a tensor, beside an input, and counts.

catalogue: tricky because one function of the file returns both results, and is handed an input and no other tensor
seen at: strangers' files (merged tokens, the area under a curve)
expect: PASS
needs: cpu
check: circular-reference
"""

import torch

TEST_CASES = {"one": {"rows": 1, "columns": 1}, "none": {"rows": 0}, "long": {"rows": 3, "columns": 200}}


def _laid_out(lists, x):
    out = torch.full_like(x, -1)
    for row, numbers in zip(out, lists, strict=True):
        row[: len(numbers)] = torch.tensor(numbers, dtype=x.dtype)
    return out, torch.tensor([len(numbers) for numbers in lists], dtype=torch.int64)


def reference_fn(x):
    """Each number that is new in its row, in the order in which they come."""
    return _laid_out([list(dict.fromkeys(row)) for row in x.tolist()], x)


def kernel_fn(x):
    is_new = torch.ones_like(x, dtype=torch.bool)
    for column in range(1, x.shape[1]):
        is_new[:, column] = (x[:, :column] != x[:, column : column + 1]).all(1)
    return _laid_out([row[new].tolist() for row, new in zip(x, is_new, strict=True)], x)


def get_inputs(rows=20, columns=30, device="cpu"):
    return [torch.randint(0, 40, (rows, columns), device=device)]
