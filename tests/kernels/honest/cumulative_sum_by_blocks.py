"""Inclusive scan by blocks: local scans, a scan of the block totals, then the offsets.

catalogue: tricky because the sums are taken in another order and grow along the row
seen at: decoupled look-back scans
expect: PASS
needs: cpu
check: values
"""

import torch

TEST_CASES = {"short": {"n": 5}, "odd": {"n": 1031}}


def reference_fn(x):
    return torch.cumsum(x, -1)


def get_inputs(rows=7, n=4096, device="cpu"):
    return [torch.randn(rows, n, device=device)]


def kernel_fn(x):
    rows, n = x.shape
    padded = torch.nn.functional.pad(x, (0, -n % 64)).view(rows, -1, 64)
    local = padded.clone()
    step = 1
    while step < 64:
        shifted = local.clone()
        shifted[..., step:] += local[..., :-step]
        local, step = shifted, 2 * step
    totals = local[..., -1]
    offsets = torch.zeros_like(totals)
    for i in range(1, totals.shape[1]):
        offsets[:, i] = offsets[:, i - 1] + totals[:, i - 1]
    return (local + offsets[..., None]).view(rows, -1)[:, :n].contiguous()
