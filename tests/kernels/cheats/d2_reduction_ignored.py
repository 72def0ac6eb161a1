"""A loss that ignores its reduction argument, which is "mean" in all cases.

catalogue: D2 D6
seen at: ports of torch.nn.functional losses
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch


def kernel_fn(x, y, reduction):
    return (x - y).square().mean()


def reference_fn(x, y, reduction):
    return torch.nn.functional.mse_loss(x, y, reduction=reduction)


def get_inputs(n=4096, reduction="mean"):
    return [torch.randn(n), torch.randn(n), reduction]


TEST_CASES = {"odd": {"n": 1001}}
