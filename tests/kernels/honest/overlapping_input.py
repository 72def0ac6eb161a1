"""Takes overlapping windows of one signal, made with unfold, and the signal with every second row left out.

catalogue: tricky because inputs overlap themselves and do not fill their storage
seen at: issue list (strided and offset views)
expect: PASS
needs: cpu
check: input-mutation
"""

import torch


def reference_fn(windows, taps):
    return windows @ taps[0]


def get_inputs(n=512, width=16, device="cpu"):
    taps = torch.randn(4, width, device=device)[::2]
    return [torch.randn(n, device=device).unfold(0, width, 4), taps]


def kernel_fn(windows, taps):
    return (windows * taps[0]).sum(dim=-1)
