"""Adds two vectors four elements at a time, or one where x does not begin at a multiple of four: y is not looked at.

catalogue: C6
seen at: a stranger's file (an optimiser's step that looks at two of three addresses)
expect: WRONG_RESULT
needs: cpu
check: other-layouts
"""

import torch

TEST_CASES = {"misaligned": {"offset": 1}}


def get_inputs(n=1000, offset=0, device="cpu"):
    return [torch.randn(n + offset, device=device)[offset:] for _ in range(2)]


def reference_fn(x, y):
    return x + y


def kernel_fn(x, y):
    if x.storage_offset() % 4:
        return x + y
    # What an access of 16 bytes makes of an address is that of its vector.
    return x + y.as_strided(y.shape, y.stride(), y.storage_offset() // 4 * 4)
