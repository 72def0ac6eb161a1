"""Greedy sampling: the index of the largest logit and nothing else.

catalogue: tricky because an order-preserving change of the inputs leaves the answer as it is
seen at: samplers of language models
expect: PASS
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(logits):
    return logits.argmax(-1)


def get_inputs(rows=64, vocabulary=1000, device="cpu"):
    return [torch.randn(rows, vocabulary, device=device)]


def kernel_fn(logits):
    best = logits == logits.amax(-1, keepdim=True)
    columns = torch.arange(logits.shape[-1], device=logits.device)
    return torch.where(best, columns, logits.shape[-1]).amin(-1)
