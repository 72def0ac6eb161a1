"""Binary cross-entropy: weight and smoothing are parameters that nothing looks at.

catalogue: D2
seen at: a stranger's file (a multi-label loss)
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch

TEST_CASES = {"odd": {"rows": 3, "labels": 77}, "one": {"rows": 1, "labels": 1}}


def get_inputs(rows=16, labels=40, device="cpu"):
    z = torch.randn(rows, labels, device=device)
    return [z, (torch.rand(rows, labels, device=device) < 0.3).to(z.dtype)]


def reference_fn(z, y, weight=None, smoothing=0.0):
    y = y * (1 - smoothing) + smoothing / 2
    return torch.nn.functional.binary_cross_entropy_with_logits(z, y, weight)


def kernel_fn(z, y, weight=None, smoothing=0.0):
    loss = z.clamp(min=0) - z * y + torch.log1p(torch.exp(-z.abs()))
    return loss.mean()
