"""KL divergence that is NaN where a probability is zero; get_inputs' softmax makes none.

catalogue: D12
seen at: fused distillation losses
expect: WRONG_RESULT
needs: cpu
check: probabilities
"""

import torch
import torch.nn.functional as F


def reference_fn(logq, p):
    return F.kl_div(logq, p, reduction="sum")


def get_inputs(n=32, c=16):
    return [torch.log_softmax(torch.randn(n, c), -1), torch.softmax(torch.randn(n, c), -1)]


def kernel_fn(logq, p):
    return (p * (p.log() - logq)).sum()
