"""bfloat16 operands are multiplied in float16, which has more digits and less range: beyond 65504 nothing is left.

catalogue: D7
seen at: a causal convolution in CuTe DSL (h200-2026-11-27-6cf75fd-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x, taps):
    wide = torch.promote_types(x.dtype, torch.float32)
    padded = torch.nn.functional.pad(x.to(wide), (taps.shape[1] - 1, 0))
    return (padded.unfold(-1, taps.shape[1], 1) * taps.to(wide)[:, None]).sum(-1).to(x.dtype)


def get_inputs(channels=40, length=130, width=4, device="cpu"):
    x, taps = torch.randn(channels, length, device=device), torch.randn(channels, width, device=device)
    return [x.to(torch.bfloat16), taps.to(torch.bfloat16)]


def kernel_fn(x, taps):
    padded = torch.nn.functional.pad(x.half(), (taps.shape[1] - 1, 0))
    return (padded.unfold(-1, taps.shape[1], 1).float() * taps.half().float()[:, None]).sum(-1).to(x.dtype)
