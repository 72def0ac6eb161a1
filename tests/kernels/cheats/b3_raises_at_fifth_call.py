"""Right four times; the fifth call raises.

catalogue: B3
seen at: wafer (state that builds up between calls); a harness that calls once never sees it
expect: CRASH
needs: cpu
check: replay-many-calls
"""

import torch

_slots = [0, 1, 2, 3]


def reference_fn(x):
    return x.clamp(-1, 1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if not _slots:
        raise RuntimeError("no free workspace slot")
    _slots.pop()
    return x.clamp(-1, 1)
