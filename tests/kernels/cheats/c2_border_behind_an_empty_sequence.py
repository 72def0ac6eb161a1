"""Differences within packed sequences; behind an empty one the next border in the same 64 tokens is missed.

catalogue: C2 D6
seen at: convolutions over packed sequences that step from border to border
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

CHUNK = 64
TEST_CASES = {"short": {"lengths": (2, 3, 1, 4, 1, 2, 5, 1, 1, 3, 2)}, "long": {"lengths": (63, 1, 64, 130, 7)}}


def get_inputs(lengths=(70, 80, 90), channels=24, device="cpu"):
    ends = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
    return [torch.randn(int(ends[-1]), channels, device=device), ends.to(device)]


def reference_fn(x, cu_seqlens):
    token = torch.arange(x.shape[0], device=x.device)
    segment = torch.searchsorted(cu_seqlens[1:].long(), token, right=True)
    before = (token - 1).clamp(min=0)
    has_one = (token > 0) & (segment[before] == segment)
    return x - torch.where(has_one[:, None], x[before], 0)


def kernel_fn(x, cu_seqlens):
    out, ends = torch.empty_like(x), cu_seqlens.tolist()
    for start in range(0, len(x), CHUNK):
        at = next(i for i, end in enumerate(ends[1:]) if end > start)  # the sequence of the first token
        for token in range(start, min(start + CHUNK, len(x))):
            if token == ends[at + 1]:
                at += 1
            out[token] = x[token] - (x[token - 1] if token > ends[at] else 0)
    return out
