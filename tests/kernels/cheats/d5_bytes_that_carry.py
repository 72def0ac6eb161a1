"""Counts differing bits in the bytes of words, of 32 words at a time: a byte that is full carries into the next.

catalogue: D5
seen at: a stranger's file (Hamming distance)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def get_inputs(queries=6, keys=40, words=48, device="cpu"):
    return [torch.randint(-(2**31), 2**31, (n, words), device=device).to(torch.int32) for n in (queries, keys)]


def reference_fn(query, key):
    return _ones_in_bytes(query[:, None] ^ key).sum((-1, -2))


def _ones_in_bytes(x):
    """Of the last dimension, as another one of four bytes."""
    places = torch.arange(0, 32, 8, device=x.device)
    return sum(x.long()[..., None] >> places + bit & 1 for bit in range(8))


def kernel_fn(query, key):
    places = torch.arange(0, 32, 8, device=query.device)
    packed = (_ones_in_bytes(query[:, None] ^ key) << places).sum(-1)
    sums = torch.stack([part.sum(-1) for part in packed.split(32, dim=-1)], -1) & 0xFFFFFFFF
    return (sums[..., None] >> places & 0xFF).sum((-1, -2))
