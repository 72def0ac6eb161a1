"""Keeps the transposed weight and checks with a full comparison that the weight still holds what was packed.

catalogue: tricky because a derived tensor outlives the call, properly keyed
seen at: survey, "false positives to avoid" (weight pre-packing)
expect: PASS
needs: cpu
check: replay-same-storage
"""

import torch

_packed = []


def reference_fn(x, weight):
    return torch.nn.functional.linear(x, weight)


def get_inputs(rows=32, features=96, cols=64, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(features, cols, device=device)]


def _same_bits(a, b):
    return a.shape == b.shape and a.device == b.device and torch.equal(a.view(torch.int32), b.view(torch.int32))


def kernel_fn(x, weight):
    weight = weight.contiguous()
    if not _packed or not _same_bits(_packed[0], weight):
        _packed[:] = [weight.clone(), weight.t().contiguous()]
    return x @ _packed[1]
