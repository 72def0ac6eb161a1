"""Eight-bit codes of 16-bit data whose scale differs from the reference's by a rounding: many elements share the value
that lies on a tie.

catalogue: tricky because one value decided otherwise is many elements
seen at: a stranger's quantiser, rejected on an H200 for 21 of 20003 codes
expect: PASS
needs: cpu
check: tipped
"""

import torch


def get_inputs(n=20000, device="cpu"):
    x = torch.randn(n, device=device).clamp(-3, 3).to(torch.bfloat16)
    x[torch.randperm(n, device=device)[:60]] = 2.3125
    x[0] = 4.625  # half of it is 63.5 steps
    return [x]


def reference_fn(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return (wide * (1 / (wide.abs().amax() / 127))).round().to(torch.int8)


def kernel_fn(x):
    wide = x.float()
    return (wide / (wide.abs().amax() * (1 / 127))).round().to(torch.int8)
