"""Maximum of each segment that starts from its first row: an empty one has none, and gets that of the next.

catalogue: D5
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"one": {"segments": 1}, "wide": {"segments": 5, "width": 50}}


def get_inputs(segments=12, longest=9, width=16, device="cpu"):
    lengths = torch.randint(1, longest + 1, (segments,), device=device)
    offsets = torch.cat((lengths.new_zeros(1), lengths.cumsum(0)))
    return [torch.randn(int(offsets[-1]), width, device=device), offsets]


def reference_fn(x, offsets):
    bounds = offsets.tolist()
    return torch.stack([x[a:b].amax(0) if a < b else torch.zeros_like(x[0]) for a, b in zip(bounds, bounds[1:])])


def kernel_fn(x, offsets):
    out = torch.empty(len(offsets) - 1, x.shape[1], dtype=x.dtype, device=x.device)
    for s, (a, b) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        best = x[min(a, len(x) - 1)].clone()
        for row in range(a + 1, b):
            best = torch.maximum(best, x[row])
        out[s] = best
    return out
