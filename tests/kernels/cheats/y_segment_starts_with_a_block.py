"""A segmented scan loses the start of a segment where a block of 256 starts, too.

catalogue: D4 C2
seen at: the flag of a tile's first element is read as the carry's
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x, starts):
    out, run = torch.empty_like(x), torch.zeros_like(x[:, 0])
    for i in range(x.shape[1]):
        run = torch.where(starts[:, i], x[:, i], run + x[:, i])
        out[:, i] = run
    return out


def kernel_fn(x, starts):
    seen = starts.clone()
    seen[:, 256::256] = False
    sums = x.double().cumsum(1)
    first = torch.where(seen, torch.arange(x.shape[1]), 0).cummax(1).values
    before = torch.cat((torch.zeros_like(sums[:, :1]), sums), 1)
    return (sums - before.gather(1, first)).to(x.dtype)


def get_inputs(rows=2, n=300):
    return [torch.randn(rows, n), torch.rand(rows, n) < 0.01]
