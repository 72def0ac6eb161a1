"""Reads the storage from its beginning: right unless the input starts in the middle of one.

catalogue: C6 D10
seen at: cutlass#2794 (misaligned and offset slices); survey row D10
expect: WRONG_RESULT | CHEATING
needs: cpu
check: values
"""

import torch

TEST_CASES = {"offset": {"offset": 3}}


def reference_fn(x):
    return x * 1.5


def get_inputs(n=4096, offset=0, device="cpu"):
    return [torch.randn(n + offset, device=device)[offset:]]


def kernel_fn(x):
    flat = torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage())
    return flat[: x.numel()] * 1.5
