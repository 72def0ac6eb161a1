"""Applies experts to no more tokens than twice the mean; the others stay zero.

catalogue: D6
seen at: MoE kernels with a fixed buffer per expert
expect: WRONG_RESULT
needs: cpu
check: crowded-classes
"""

import torch


def reference_fn(x, w, idx):
    return torch.stack([x[i] @ w[e] for i, e in enumerate(idx.tolist())])


def get_inputs(t=256, e=8, d=16):
    return [torch.randn(t, d), torch.randn(e, d, d), torch.randint(0, e, (t,))]


def kernel_fn(x, w, idx):
    out = torch.zeros_like(x)
    cap = 2 * x.shape[0] // w.shape[0]
    for e in range(w.shape[0]):
        rows = (idx == e).nonzero().flatten()[:cap]
        out[rows] = x[rows] @ w[e]
    return out
