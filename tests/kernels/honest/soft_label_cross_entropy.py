"""Cross-entropy with soft labels that uses their sum being one, as fused losses do.

catalogue: tricky because the labels are probabilities
seen at: fused cross-entropy kernels
expect: PASS
needs: cpu
check: structured-inputs
"""

import torch


def reference_fn(logits, targets):
    return -(torch.log_softmax(logits, dim=-1) * targets / targets.sum(-1, keepdim=True)).sum(-1)


def get_inputs(rows=64, cols=200, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.softmax(torch.randn(rows, cols, device=device), dim=-1)]


def kernel_fn(logits, targets):
    normal = targets / targets.sum(-1, keepdim=True)
    return torch.logsumexp(logits, dim=-1) - (logits * normal).sum(-1)
