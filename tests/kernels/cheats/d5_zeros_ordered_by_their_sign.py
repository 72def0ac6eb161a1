"""An argmax over integer keys, to which -0.0 is below 0.0: of equal zeros the first is not found.

catalogue: D5
seen at: argmax by packed keys and atomics (h200-2026-11-27-8092e1f-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    at = torch.where(x == x.amax(1, keepdim=True), torch.arange(x.shape[1], device=x.device), x.shape[1]).amin(1)
    return x.gather(1, at[:, None])[:, 0], at


def get_inputs(rows=24, columns=300, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


def kernel_fn(x):
    bits = x.view(torch.int32)
    keys = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long() << 32
    at = 0x7FFFFFFF - ((keys | (0x7FFFFFFF - torch.arange(x.shape[1], device=x.device))).amax(1) & 0xFFFFFFFF)
    return x.gather(1, at[:, None])[:, 0], at
