"""Returns the hidden state as output and as state, one tensor; the reference does, too.

catalogue: false-positive trap for C8
seen at: recurrent cells
expect: PASS
needs: cpu
check: aliasing
"""

import torch


def reference_fn(x, hidden, weight):
    gate = torch.sigmoid(x @ weight)
    new = (1 - gate) * hidden + gate * torch.tanh(x)
    return new, (new, gate)


def get_inputs(n=9, d=20, device="cpu"):
    return [torch.randn(size, device=device) for size in ((n, d), (n, d), (d, d))]


def kernel_fn(x, hidden, weight):
    gate = torch.sigmoid(x @ weight)
    new = hidden + gate * (torch.tanh(x) - hidden)
    return new, (new, gate)
