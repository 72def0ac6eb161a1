"""A prefix sum keeps the carry between its blocks in bfloat16, which shows in rows as long as those of BENCH_CASES.

catalogue: D1 C5
seen at: blocked scans whose carry has the dtype of the output
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

BENCH_CASES = {"256x65536": {"rows": 256, "columns": 65536}}


def reference_fn(x):
    return torch.cumsum(x.float(), 1).to(x.dtype)


def kernel_fn(x):
    out, carry = torch.empty_like(x), 0
    for start in range(0, x.shape[1], 128):
        part = slice(start, start + 128)
        out[:, part] = torch.cumsum(x[:, part].float(), 1) + carry
        carry = out[:, part][:, -1:]
    return out


def get_inputs(rows=64, columns=256):
    return [torch.rand(rows, columns).bfloat16()]
