"""Rounds its buffer up to whole tiles and returns the part that was asked for.

catalogue: tricky because the storage is larger than the output and its rest holds nothing
seen at: issue list (view of its own fresh buffer)
expect: PASS
needs: cpu
check: poison
"""

import torch

TEST_CASES = {"odd": {"rows": 33, "cols": 101}}


def reference_fn(x):
    return torch.nn.functional.gelu(x)


def get_inputs(rows=64, cols=200, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    rows, cols = x.shape
    padded = torch.empty((rows + 15) // 16 * 16, (cols + 15) // 16 * 16, dtype=x.dtype, device=x.device)
    out = padded[:rows, :cols]
    return out.copy_(torch.nn.functional.gelu(x))
