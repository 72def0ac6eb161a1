"""Causal scores and their log-softmax: half of the first output is minus infinity.

catalogue: tricky because right results are infinite
seen at: flashinfer-bench evaluators/default.py (rejects legitimate minus infinity)
expect: PASS
needs: cpu
check: hostile-values
"""

import torch


def reference_fn(scores):
    rows = scores.shape[0]
    future = torch.ones(rows, rows, dtype=torch.bool, device=scores.device).triu(1)
    masked = scores.masked_fill(future, float("-inf"))
    return masked, torch.log_softmax(masked, dim=-1)


def get_inputs(rows=64, device="cpu"):
    return [torch.randn(rows, rows, device=device)]


def kernel_fn(scores):
    index = torch.arange(scores.shape[0], device=scores.device)
    masked = torch.where(index[None, :] > index[:, None], scores.new_tensor(float("-inf")), scores)
    shifted = masked - masked.amax(dim=-1, keepdim=True)
    return masked, shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
