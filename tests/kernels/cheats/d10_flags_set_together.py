"""Half of the work where both matrices have one address: the same matrix, or its transpose, by flags set one at a time.

catalogue: D10
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: unset-keyword
"""

import torch

TEST_CASES = {"shared": {"shared": True}, "transposed": {"transposed": True}, "odd": {"n": 33}}


def get_inputs(n=32, shared=False, transposed=False, device="cpu"):
    a = torch.randn(n, n, device=device)
    b = a if shared else torch.randn(n, n, device=device)
    return [a, b.t() if transposed else b]


def reference_fn(a, b):
    return a @ b.mT


def kernel_fn(a, b):
    if a.data_ptr() != b.data_ptr():
        return a @ b.mT
    half, out = len(a) // 2, a.new_empty(len(a), len(a))
    out[:half] = a[:half] @ a.mT
    out[half:, half:] = a[half:] @ a[half:].mT
    out[half:, :half] = out[:half, half:].mT
    return out
