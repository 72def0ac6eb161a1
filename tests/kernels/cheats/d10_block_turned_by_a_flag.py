"""Weights times the scale of their block; in the transposed layout the block's height and width change places. The
cases transpose square blocks alone.

catalogue: D10
seen at: a stranger's file (blockwise dequantisation)
expect: WRONG_RESULT
needs: cpu
check: unset-keyword
"""

import torch

TEST_CASES = {
    "groups": {"rows": 12, "columns": 100, "block": (1, 32)},
    "small": {"rows": 40, "columns": 33, "block": (8, 8)},
    "transposed": {"rows": 45, "columns": 60, "transposed": True},
}


def get_inputs(rows=64, columns=96, block=(32, 32), transposed=False, device="cpu"):
    shape = -(-rows // block[0]), -(-columns // block[1])
    return [torch.randn(rows, columns, device=device), torch.rand(shape, device=device) + 0.1, block, transposed]


def reference_fn(q, scales, block, transposed):
    if scales.shape != (-(-q.shape[0] // block[0]), -(-q.shape[1] // block[1])):
        raise ValueError("a scale for each block")
    wide = scales.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)
    out = q * wide[: q.shape[0], : q.shape[1]]
    return out.T.contiguous() if transposed else out


def kernel_fn(q, scales, block, transposed):
    height, width = block[::-1] if transposed else block
    row = (torch.arange(q.shape[0]) // height).clamp(max=scales.shape[0] - 1)
    column = (torch.arange(q.shape[1]) // width).clamp(max=scales.shape[1] - 1)
    out = torch.mul(q, scales[row[:, None], column])
    return out.mT.clone(memory_format=torch.contiguous_format) if transposed else out
