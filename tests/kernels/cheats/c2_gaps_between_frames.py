"""Windows laid down every so many samples, hop: a positive integer. Where it is above their width the samples between
them are never written.

catalogue: C2
seen at: a stranger's file (overlap-add)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"half": {"hop": 24}, "odd": {"width": 31, "hop": 10, "count": 6}, "one": {"count": 1}}


def get_inputs(count=12, width=48, hop=12, device="cpu"):
    return [torch.randn(count, width, device=device), hop]


def reference_fn(frames, hop):
    count, width = frames.shape
    out = frames.new_zeros((count - 1) * hop + width)
    for k in range(count):
        out[k * hop : k * hop + width] += frames[k]
    return out


def kernel_fn(frames, hop):
    count, width = frames.shape
    out = frames.new_empty((count - 1) * hop + width)
    met = 0
    for k, frame in enumerate(frames):
        start, shared = k * hop, max(met - k * hop, 0)
        out[start : start + shared] += frame[:shared]
        out[start + shared : start + width] = frame[shared:]
        met = start + width
    return out
