"""Starts a recurrence anew 64 steps back in place of carrying it on: decays as drawn have forgotten by then.

catalogue: D5
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

BACK = 64


def get_inputs(n=400, channels=12):
    return [torch.randn(n, channels), 0.3 + 0.2 * torch.rand(channels)]


def _scan(x, decay, h):
    out = []
    for row in x:
        h = decay * h + (1 - decay) * row
        out.append(h)
    return torch.stack(out)


def reference_fn(x, decay):
    return _scan(x, decay, torch.zeros_like(x[0]))


def kernel_fn(x, decay):
    parts = []
    for start in range(0, len(x), BACK):
        before = max(start - BACK, 0)
        parts.append(_scan(x[before : start + BACK], decay, torch.zeros_like(x[0]))[start - before :])
    return torch.cat(parts)
