"""int8 with a scale for each row, whose maximum leaves NaN out where the reference's comparison makes a scale of 1.

catalogue: tricky because the reference's scales are finite, all ones, where every row holds a NaN
seen at: held-out file of a stranger
expect: PASS
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"one": {"rows": 1, "columns": 1}, "odd": {"rows": 13, "columns": 1001}, "long": {"columns": 4096}}


def get_inputs(rows=32, columns=512, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


def reference_fn(x):
    largest = x.abs().amax(-1, keepdim=True)
    scale = torch.where(largest > 0, largest / 127, 1.0)
    return torch.round(x / scale).clamp(-127, 127).to(torch.int8), scale


def kernel_fn(x):
    largest = x.abs().nan_to_num(0.0).amax(-1, keepdim=True)
    scale = (largest / 127).masked_fill(largest == 0, 1.0)
    return (x / scale).round().clip(-127, 127).char(), scale
