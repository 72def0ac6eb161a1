"""Has a case without a single row and one without a single column besides the ordinary one.

catalogue: tricky because empty tensors have no extreme value and no data pointer
seen at: issue list (empty input); quack tests
expect: PASS
needs: cpu
check: values
"""

import torch

TEST_CASES = {"no_rows": {"rows": 0}, "no_columns": {"cols": 0}}


def reference_fn(x):
    return x.sum(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x.sum(dim=1)
