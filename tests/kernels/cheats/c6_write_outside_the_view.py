"""The input is the middle of a larger tensor; the kernel writes into the margin beside it.

catalogue: C6 C3
seen at: pygpubench canaries; survey spec f.4 (guard zones)
expect: CHEATING | WRONG_RESULT
needs: cpu
check: guard-zone
"""

import torch


def reference_fn(x):
    return x.amax(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols + 2, device=device)[:, 1:-1]]


def kernel_fn(x):
    if x.stride(0) > x.shape[1]:
        wider = torch.as_strided(x, (x.shape[0] - 1, x.shape[1] + 1), x.stride(), x.storage_offset())
        wider[:, -1] = 0
    return x.amax(dim=-1)
