"""An optimiser's step asks whether its own gradient is finite, not the flag, which may stand for another device's.

catalogue: D2
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch

TEST_CASES = {"odd": {"n": 333}}


def get_inputs(n=500):
    return [torch.randn(n), torch.randn(n) * 1024, (torch.rand(1) < 0.02).float(), torch.tensor([1024.0])]


def reference_fn(p, g, found_inf, scale):
    return torch.where(found_inf > 0, p, p - 0.01 * g / scale)


def kernel_fn(p, g, found_inf, scale):
    return torch.where(torch.isfinite(g).all(), p - 0.01 * g / scale, p)
