"""Fingerprints of tensors, computed where they are and in stream order."""

from __future__ import annotations

import torch

from .. import values

SNAPSHOT_BYTES = 1 << 30


class Pending(list):
    """Fingerprints still on the GPU; comparing two reads them."""

    def __eq__(self, other) -> bool:
        return list(map(_numbers, self)) == list(map(_numbers, other))

    def __ne__(self, other) -> bool:
        return not self == other


def _numbers(fingerprint) -> tuple:
    return tuple(fingerprint.tolist()) if isinstance(fingerprint, torch.Tensor) else fingerprint


def fingerprint(tensor: torch.Tensor, snapshot: bool = False):
    """Two sums over the bytes of the memory that the tensor reaches, one of them weighted by position.

    snapshot: sum over a copy. On a GPU a copy passes over the memory within microseconds, the sums take long enough
    for work that is late to be done before they get there.
    """
    start, stop = values.extent(tensor)
    data = values.storage_bytes(tensor, start, stop - start)
    if snapshot and tensor.is_cuda and data.numel() <= SNAPSHOT_BYTES:
        data = data.clone()
    words = data[: data.numel() // 4 * 4].view(torch.int32) if start % 4 == 0 else data
    tail = data[data.numel() // 4 * 4:] if start % 4 == 0 else data[:0]
    plain = tail.sum(dtype=torch.int64)
    weighted = torch.zeros((), dtype=torch.int64, device=data.device)
    for index, chunk in enumerate(words.split(1 << 24)):
        long = chunk.to(torch.int64)
        plain = plain + long.sum()
        weighted = weighted + (long * torch.arange(1, long.numel() + 1, device=data.device)).sum() * (index + 1)
    both = torch.stack([plain, weighted])
    return both if tensor.is_cuda else tuple(both.tolist())
