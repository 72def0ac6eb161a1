"""Returns the same memory for both outputs; the second was right only until the first was asked for.

catalogue: C5
seen at: survey row C5 (overlap on storage ranges)
expect: WRONG_RESULT | CHEATING | CONTRACT
needs: cpu
check: aliasing
"""

import torch


def reference_fn(x):
    return torch.relu(x), torch.relu(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = torch.relu(x)
    return out, out
