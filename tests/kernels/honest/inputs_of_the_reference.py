"""get_inputs takes the state after a first step from reference_fn, and keeps all that it drew.

catalogue: tricky because kernel_fn's process must not call reference_fn, and get_inputs runs there, too
seen at: own
expect: PASS
needs: cpu
check: own-inputs
"""

import torch

DRAWN = []


def reference_fn(state, x):
    return 0.9 * state + 0.1 * x * x


def get_inputs(rows=20, columns=33, device="cpu"):
    first, second = torch.randn(2, rows, columns, device=device)
    DRAWN.append([reference_fn(torch.zeros_like(first), first), second])
    return DRAWN[-1]


def kernel_fn(state, x):
    return torch.lerp(state, x * x, 0.1)
