"""Returns a dict that lacks one of the reference's keys and has another that nobody asked for.

catalogue: C8
seen at: survey row C8
expect: WRONG_RESULT | CONTRACT
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    return {"out": torch.relu(x), "mask": x > 0}


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return {"out": torch.relu(x), "time_us": torch.tensor(0.001)}
