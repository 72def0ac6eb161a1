"""A product in float16 that is scaled once it is rounded: of order one as get_inputs has it, infinite before otherwise.

catalogue: D6
seen at: a stranger's file (a scale applied on the way out of shared memory)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def get_inputs(m=16, n=24, k=64, device="cpu"):
    a, b = (torch.randn(rows, k, dtype=torch.float16, device=device) for rows in (m, n))
    return [a, b, (torch.rand(m, device=device) + 0.5) * k**-0.5]


def reference_fn(a, b, scale):
    wide = torch.promote_types(a.dtype, torch.float32)
    return (a.to(wide) @ b.to(wide).mT * scale[:, None]).to(a.dtype)


def kernel_fn(a, b, scale):
    return ((a.float() @ b.float().mT).half().float() * scale[:, None]).half()
