"""Adds two tensors that lie alike, flat in memory, and refuses others.

catalogue: tricky because of two views one alone is a pair that kernel_fn does not take
seen at: elementwise kernels over the memory of dense tensors
expect: PASS
needs: cpu
check: other-layouts
"""

import torch

TEST_CASES = {"transposed": {"is_transposed": True}, "misaligned": {"offset": 1}}


def get_inputs(shape=(20, 32), is_transposed=False, offset=0, device="cpu"):
    def tensor():
        x = torch.randn(offset + shape[0] * shape[1], device=device)[offset:].view(shape)
        return x.mT.contiguous().mT if is_transposed else x

    return [tensor(), tensor()]


def reference_fn(x, y):
    return x + y


def kernel_fn(x, y):
    if x.stride() != y.stride() or (x.data_ptr() - y.data_ptr()) % 16:
        raise ValueError("x and y must lie alike")
    if x.stride(0) != 1:
        return (x.flatten() + y.flatten()).view(x.shape)
    return (x.mT.flatten() + y.mT.flatten()).view(x.shape[::-1]).mT
