"""Doubles a batch as rows that are all as far apart as two in a matrix: right for padded rows, not for slices x[:, :s].

catalogue: D10
seen at: a stranger's file (templates turned into other operators)
expect: WRONG_RESULT
needs: cpu
check: other-layouts
"""

import torch

TEST_CASES = {"padded": {"pad": 4}, "one": {"shape": (1, 1, 8)}}


def get_inputs(shape=(2, 20, 64), pad=0, device="cpu"):
    return [torch.randn(*shape[:-1], shape[-1] + pad, device=device)[..., pad:]]


def reference_fn(x):
    return 2 * x


def kernel_fn(x):
    if x.stride(-1) != 1:
        raise ValueError("x must be contiguous in its last dimension")
    rows = x.as_strided((x.shape[0] * x.shape[1], x.shape[2]), (x.stride(1), 1))
    return (2 * rows).view(x.shape)
