"""Maps bytes through a table that the first call computes and keeps.

catalogue: tricky because the kernel keeps state, which depends on no input
seen at: dequantisation tables (NF4, gamma curves)
expect: PASS
needs: cpu
check: replay
"""

import torch

_table = None


def reference_fn(codes, scale):
    t = codes.float() / 255 * 2 - 1
    return torch.sign(t) * t.abs().pow(2.2) * scale[:, None]


def get_inputs(rows=48, cols=160, device="cpu"):
    return [torch.randint(0, 256, (rows, cols), dtype=torch.uint8, device=device), torch.rand(rows, device=device)]


def kernel_fn(codes, scale):
    global _table
    if _table is None:
        t = torch.arange(256, dtype=torch.float64) / 255 * 2 - 1
        _table = (torch.sign(t) * t.abs().pow(2.2)).float()
    return _table[codes.long()] * scale.view(-1, 1)
