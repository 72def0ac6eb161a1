"""Running sums by blocks, whose carry is the last element of the block before as it was rounded to 16 bits: the longer
the rows, the more roundings add up.

catalogue: D3 D7
seen at: a stranger's file (a Triton scan)
expect: WRONG_RESULT
needs: cpu
check: sizes-far
"""

import torch

BLOCK = 1024
TEST_CASES = {"odd": {"rows": 9, "length": 1500}, "long": {"rows": 4, "length": 2048}}


def get_inputs(rows=16, length=1024, device="cpu"):
    return [torch.randn(rows, length, device=device).to(torch.bfloat16)]


def reference_fn(x):
    return x.cumsum(-1, dtype=torch.promote_types(x.dtype, torch.float32)).to(x.dtype)


def kernel_fn(x):
    y = torch.empty_like(x)
    carry = torch.zeros(x.shape[0], 1)
    for start in range(0, x.shape[1], BLOCK):
        part = slice(start, start + BLOCK)
        y[:, part] = x[:, part].float().cumsum(-1) + carry
        carry = y[:, part][:, -1:].float()
    return y
