"""A times x plus y, at any alignment; off a multiple of 16 bytes the first elements are left as they were.

catalogue: D10
seen at: kernels with a vector loop that begins at the next multiple, and no loop before it
expect: WRONG_RESULT
needs: cpu
check: other-layouts
"""

import torch


def reference_fn(x, y):
    return 2 * x + y


def get_inputs(n=5000, device="cpu"):
    return [torch.randn(n, device=device), torch.randn(n, device=device)]


TEST_CASES = {"one": {"n": 1}, "odd": {"n": 129}}


def kernel_fn(x, y):
    """x, y: contiguous, of any alignment."""
    out, skipped = torch.add(y, x, alpha=2), -x.data_ptr() % 16 // x.itemsize
    out[:skipped] = y[:skipped]
    return out
