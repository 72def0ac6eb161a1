"""An asymmetric quantiser whose range of a group leaves zero out where all eight values are positive, or negative.

catalogue: D5
seen at: a stranger's file; such a group comes in one draw of eight
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch


def reference_fn(x):
    groups = x.unflatten(1, (-1, 8))
    low, high = groups.amin(-1).clamp(max=0), groups.amax(-1).clamp(min=0)
    return low, (high - low) / 255


def get_inputs(rows=4, columns=64, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


def kernel_fn(x):
    groups = x.unflatten(1, (-1, 8))
    low, high = groups.amin(-1), groups.amax(-1)
    return low, (high - low) / 255
