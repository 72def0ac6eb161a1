"""Binary erosion of a uint8 mask that copies the four corners instead of eroding them.

catalogue: D4
seen at: stencils that leave the corners
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch
import torch.nn.functional as F


def reference_fn(x):
    wide = F.pad(x.to(torch.float32)[None, None], (1, 1, 1, 1))
    return (-F.max_pool2d(-wide, 3, 1))[0, 0].to(torch.uint8)


def get_inputs(h=256, w=250):
    return [(torch.rand(h, w) < 0.97).to(torch.uint8)]


TEST_CASES = {"odd": {"h": 301, "w": 257}}


def kernel_fn(x):
    out = torch.zeros_like(x)
    acc = x[1:-1, 1:-1].clone()
    for i in range(3):
        for j in range(3):
            acc &= x[i : i + x.shape[0] - 2, j : j + x.shape[1] - 2]
    out[1:-1, 1:-1] = acc
    for i in (0, -1):
        for j in (0, -1):
            out[i, j] = x[i, j]
    return out
