"""Running sum that goes on from what came before where one row comes, as in decoding, and forgets it where several do.

catalogue: D10 B8
seen at: a stranger's file of 25 November 2026, accepted then: chunked prefill tested by prefill and decode alone
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch


def kernel_fn(past, x):
    before = past.sum(0) if len(x) == 1 else 0.0
    return x.cumsum(0) + before


def reference_fn(past, x):
    return torch.cat([past, x]).cumsum(0)[len(past) :]


def get_inputs(tokens=48, cached=0, dim=64):
    return [torch.randn(cached, dim), torch.randn(tokens, dim)]


TEST_CASES = {"decode": {"tokens": 1, "cached": 200}, "narrow": {"tokens": 33, "dim": 40}}
