"""Max pooling by shifted slices, padded with minus infinity, and the squared distances of its columns by differences.

catalogue: tricky because relu's zeros become negative, and all points move far from the origin
seen at: own
expect: PASS
needs: cpu
check: other-values
"""

import torch
import torch.nn.functional as F


def reference_fn(x, points):
    return F.max_pool2d(x, 3, 1, padding=1), (points[:, None] - points[None]).square().sum(-1)


def get_inputs(shape=(2, 4, 16, 16), n=30, dim=4, device="cpu"):
    return [torch.relu(torch.randn(shape, device=device)), torch.randn(n, dim, device=device)]


TEST_CASES = {"odd": {"shape": (1, 3, 13, 11), "n": 7}}


def kernel_fn(x, points):
    height, width = x.shape[2:]
    padded = F.pad(x, (1, 1, 1, 1), value=float("-inf"))
    shifted = [padded[:, :, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    squares = torch.zeros(len(points), len(points), dtype=points.dtype, device=points.device)
    for k in range(points.shape[1]):
        squares += (points[:, None, k] - points[None, :, k]).square()
    return torch.stack(shifted).amax(0), squares
