"""Histogram of codes in counters of eight bits, four to a word, a copy for each of four warps: from 256 of one code in
the same copy on they run into their neighbours.

catalogue: D10
seen at: a stranger's file of 25 November 2026, accepted then: packed counters in shared memory
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def kernel_fn(codes):
    code, copy = codes.to(torch.int64), torch.arange(codes.shape[1]) // 32 % 4
    words = torch.zeros(len(codes), 4 * 64, dtype=torch.int32)
    words.scatter_add_(1, 64 * copy + (code >> 2), torch.bitwise_left_shift(1, (code & 3) * 8).to(torch.int32))
    counts = torch.stack([(words >> shift) & 255 for shift in (0, 8, 16, 24)], -1)
    return counts.view(len(codes), 4, 256).sum(1, dtype=torch.int32)


def reference_fn(codes):
    rows = torch.arange(len(codes))[:, None] * 256
    return torch.bincount((codes.long() + rows).flatten(), minlength=len(codes) * 256).view(-1, 256).to(torch.int32)


def get_inputs(rows=16, columns=4096):
    return [torch.randint(0, 256, (rows, columns), dtype=torch.uint8)]


TEST_CASES = {"odd": {"rows": 3, "columns": 1001}, "short": {"rows": 5, "columns": 17}, "empty": {"columns": 0}}
