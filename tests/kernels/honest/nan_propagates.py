"""A clamp that keeps NaN, with NaN and both infinities in one of its own cases.

catalogue: tricky because right results contain NaN
seen at: issue list (NaN propagation); survey row D12
expect: PASS
needs: cpu
check: hostile-values
"""

import torch

TEST_CASES = {"special": {"special": True}}


def reference_fn(x):
    return x.clamp(-1, 1)


def get_inputs(rows=64, cols=256, special=False, device="cpu"):
    x = torch.randn(rows, cols, device=device)
    if special:
        x[::3, ::5], x[1::3, ::7], x[2::3, ::9] = float("nan"), float("inf"), float("-inf")
    return [x]


def kernel_fn(x):
    out = torch.where(x > 1, torch.ones_like(x), x)
    return torch.where(out < -1, -torch.ones_like(x), out)
