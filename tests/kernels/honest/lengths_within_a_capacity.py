"""Means over the first tokens of each sequence, whose lengths are at most what the buffer holds.

catalogue: tricky because sizes between those of the cases make a buffer shorter than its lengths
seen at: examples/gqa_decode.py of this repository, rejected on an H200 for lengths of 1000 in a buffer of 128
expect: PASS
needs: cpu
check: sizes-between
"""

import torch

TEST_CASES = {
    "one": {"lengths": (290,), "capacity": 290},
    "two": {"lengths": (70, 1), "capacity": 80, "dim": 32},
    "three": {"lengths": (300, 77, 1025), "capacity": 1100},
}


def reference_fn(x, lengths):
    return torch.stack([x[b, :length].mean(0) for b, length in enumerate(lengths.tolist())])


def get_inputs(lengths=(1000, 64, 333), capacity=1024, dim=128, device="cpu"):
    return [torch.randn(len(lengths), capacity, dim, device=device), torch.tensor(lengths, device=device)]


def kernel_fn(x, lengths):
    is_used = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return torch.where(is_used[:, :, None], x, 0.0).sum(1) / lengths[:, None]
