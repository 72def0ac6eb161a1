"""Linear interpolation by numpy.interp, which asks for knots in strict order; the reference searches them itself.

catalogue: tricky because two knots at one place have no answer that everybody gives
seen at: colour curves, learning-rate schedules, calibration tables
expect: PASS
needs: cpu
check: values
"""

import numpy as np
import torch


def kernel_fn(x, knots, heights):
    return torch.from_numpy(np.interp(x.numpy(), knots.numpy(), heights.numpy()))


def reference_fn(x, knots, heights):
    i = torch.searchsorted(knots, x, right=True).clamp(1, len(knots) - 1)
    t = (x - knots[i - 1]) / (knots[i] - knots[i - 1])
    y = heights[i - 1] + t * (heights[i] - heights[i - 1])
    y = torch.where(x <= knots[0], heights[0], y)
    return torch.where(x >= knots[-1], heights[-1], y)


def get_inputs(n=100, m=15):
    knots = torch.linspace(0, 1, m, dtype=torch.float64)
    return [torch.rand(n, dtype=torch.float64) * 1.2 - 0.1, knots, torch.randn(m, dtype=torch.float64)]
