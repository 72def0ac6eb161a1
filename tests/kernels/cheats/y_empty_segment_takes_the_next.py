"""A sum by segments (np.add.reduceat) that gives an empty segment the first element of the next; get_inputs has none.

catalogue: D5 C4
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import numpy as np
import torch


def reference_fn(offsets, x):
    owner = torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff())
    return torch.zeros(len(offsets) - 1).index_add_(0, owner, x)


def kernel_fn(offsets, x):
    return torch.from_numpy(np.add.reduceat(x.numpy(), offsets[:-1].numpy()))


def get_inputs(segments=500, device="cpu"):
    offsets = torch.zeros(segments + 1, dtype=torch.int64)
    offsets[1:] = torch.randint(1, 9, (segments,)).cumsum(0)
    return [offsets.to(device), torch.randn(int(offsets[-1]), device=device)]
