"""Doubles a vector four elements at a time, wherever it begins: all cases begin at a multiple of four.

catalogue: C6
seen at: a stranger's file (GEGLU with an alignment that nothing checks)
expect: WRONG_RESULT
needs: cpu
check: other-layouts
level: paranoid
"""

import torch

TEST_CASES = {"short": {"n": 77}, "long": {"n": 20_000}}


def get_inputs(n=10_001, device="cpu"):
    return [torch.randn(n, device=device)]


def reference_fn(x):
    return 2 * x


def kernel_fn(x):
    # What an access of 16 bytes makes of an address is that of its vector.
    return 2 * x.as_strided(x.shape, x.stride(), x.storage_offset() // 4 * 4)
