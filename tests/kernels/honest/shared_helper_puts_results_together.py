"""The kernel chooses and sums on its own; a helper that names the parts of the result serves the reference as well.

catalogue: tricky because one function of the file returns both results
seen at: a stranger's file
expect: PASS
needs: cpu
check: circular-reference
"""

import torch

TEST_CASES = {"one": {"experts": 2}, "empty": {"tokens": 0}}


def _named(weights, ids, experts):
    return {"ids": ids, "weights": weights, "load": torch.bincount(ids, minlength=experts)}


def reference_fn(logits):
    weights, ids = torch.softmax(logits, -1).max(-1)
    return _named(weights, ids, logits.shape[1])


def kernel_fn(logits):
    top = logits.amax(-1, keepdim=True)
    first = torch.where(logits == top, torch.arange(logits.shape[1], device=logits.device), logits.shape[1]).amin(-1)
    return _named(1 / (logits - top).exp().sum(-1), first, logits.shape[1])


def get_inputs(tokens=500, experts=16, device="cpu"):
    return [torch.randn(tokens, experts, device=device)]
