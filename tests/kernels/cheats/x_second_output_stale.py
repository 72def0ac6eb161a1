"""The main output is right; the second one, the log-sum-exp, is that of the previous call.

catalogue: B4 C1
seen at: Liger-Kernel#1450 (the gradient is wrong on replay, the loss is right)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: state
"""

import torch

_saved = {}


def reference_fn(x):
    return torch.softmax(x, dim=-1), torch.logsumexp(x, dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    lse = torch.logsumexp(x, dim=-1)
    previous = _saved.get(x.shape, lse)
    _saved[x.shape] = lse
    return torch.exp(x - lse[:, None]), previous.clone()
