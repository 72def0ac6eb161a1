"""Works on pairs of columns; with an odd number of columns the last one is taken for zero.

catalogue: C2 D6
seen at: autokernel (sizes 1023, 4097, 1537); quack tests
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"cols": 255}}


def reference_fn(x):
    return x.abs().sum(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    pairs = x.shape[1] // 2
    return x[:, : 2 * pairs].reshape(x.shape[0], pairs, 2).abs().sum(dim=(1, 2))
