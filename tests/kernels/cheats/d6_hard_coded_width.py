"""Divides by 256, the default width, whatever the width of the input is.

catalogue: D6
seen at: AgentKernelArena docs/how-to/held-out-evaluation.md (hard-coded shape)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"wide": {"cols": 320}}


def reference_fn(x):
    return x.sum(dim=-1) / x.shape[-1]


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x.sum(dim=-1) * (1 / 256)
