"""Keeps the weight's address with that of the activations, as a CUDA graph kept by the activations' address does.

catalogue: B6 B1
seen at: a held-out set of kernels; graphs captured per input pointer, with the other pointers baked in
expect: WRONG_RESULT | CHEATING | CRASH
needs: cpu
check: replay
"""

import torch

TEST_CASES = {"odd": {"m": 33, "n": 100}}
_captured = {}


def get_inputs(m=64, n=96, device="cpu"):
    return [torch.randn(m, n, device=device), torch.randn(n, device=device)]


def reference_fn(x, w):
    return x * w + x.abs()


def kernel_fn(x, w):
    key = x.data_ptr(), tuple(x.shape)
    if key not in _captured:
        _captured[key] = torch._C._construct_storage_from_data_pointer(w.data_ptr(), w.device, w.nbytes)
    return x * torch.empty(0, device=w.device).set_(_captured[key], 0, w.shape, w.stride()) + x.abs()
