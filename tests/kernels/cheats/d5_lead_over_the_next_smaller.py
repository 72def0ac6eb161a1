"""The largest logit's place, and its lead over the next smaller one: over an equal one it has none.

catalogue: D5
seen at: a stranger's file (confidence of a classifier)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"few": {"rows": 5, "classes": 31}, "odd": {"rows": 13, "classes": 301}}


def get_inputs(rows=17, classes=100, device="cpu"):
    logits = torch.randn(rows, classes, device=device)
    winner = torch.randint(classes, (rows, 1), device=device)
    return [logits.scatter_add_(1, winner, torch.rand(rows, 1, device=device) + 4)]


def reference_fn(logits):
    two = torch.topk(logits, 2, dim=1).values
    return torch.argmax(logits, dim=1), two[:, 0] - two[:, 1]


def kernel_fn(logits):
    top = logits.amax(1, keepdim=True)
    below = logits.masked_fill(logits == top, -torch.inf).amax(1)
    lead = torch.where(below == -torch.inf, 0.0, top[:, 0] - below)
    return (logits == top).to(torch.int8).argmax(1), lead
