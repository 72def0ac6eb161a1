"""The free memory around what kernel_fn allocates on a GPU: a write past the end of a result shows there.

PyTorch hands out memory in blocks of 512 bytes and more, so such a write hits nothing that anyone reads, and no tool
that watches the driver's allocations sees it. Only what PyTorch's allocator calls free, of the current stream, is
touched.
"""

from __future__ import annotations

import contextlib
from bisect import bisect

import torch

WATCHED_BYTES = 2**16  # behind each result
MOST_RESULTS = 8
NO_MAP = (RuntimeError, KeyError, AttributeError, AssertionError)  # of another allocator than PyTorch's own


class Surroundings:
    """All free memory filled with ``byte`` from now on, in the order of the current stream."""

    def __init__(self, byte: int, device: str):
        self.byte, self.device = byte, torch.device(device)
        self.blocks: list[tuple[int, int]] = []  # (address, bytes) of what was free
        self.copies: list[tuple[int, torch.Tensor]] = []  # (result, memory behind it)
        # Made here: allocated after the call they might lie in what is looked at.
        self.room = torch.empty((MOST_RESULTS, WATCHED_BYTES), dtype=torch.uint8, device=device)
        with contextlib.suppress(*NO_MAP):
            self.blocks = sorted(_free_blocks(torch.cuda.current_stream().cuda_stream, self.device.index or 0))
        for address, nbytes in self.blocks:
            self._at(address, nbytes).fill_(byte)
        self.allocations = _allocations(self.device.index or 0) if self.blocks else None

    def look(self, results: list[torch.Tensor]) -> None:
        """Copy what lies behind each result, in stream order, if the call allocated its results and nothing else: a
        block that something else had first may hold anything."""
        if not self.blocks:
            return
        made = _allocations(self.device.index or 0) - self.allocations
        free = [address for address, _ in self.blocks]
        found = {}  # (result, its end, the end of the free block that it lies in) by address
        for index, storage in enumerate(t.untyped_storage() for t in results):
            address, nbytes = storage.data_ptr(), storage.nbytes()
            at = bisect(free, address) - 1
            if nbytes and at >= 0 and address + nbytes <= sum(self.blocks[at]):
                found.setdefault(address, (index, address + nbytes, sum(self.blocks[at])))
        if made != len(found) or made > MOST_RESULTS:
            return
        for row, (address, (index, end, limit)) in enumerate(found.items()):
            following = min((other for other in found if other > address), default=limit)
            nbytes = min(limit, following, end + WATCHED_BYTES) - end
            self.copies.append((index, self.room[row, :nbytes].copy_(self._at(end, nbytes))))

    def written(self) -> list[dict]:
        """For each result with another byte behind it: how many, and how far from its end the first is."""
        found = []
        for index, behind in self.copies:
            places = (behind.cpu() != self.byte).nonzero()
            if places.numel():
                found.append({"result": index, "bytes": places.numel(), "distance": int(places[0]) + 1})
        return found

    def _at(self, address: int, nbytes: int) -> torch.Tensor:
        storage = torch._C._construct_storage_from_data_pointer(address, self.device, nbytes)
        return torch.empty(0, dtype=torch.uint8, device=self.device).set_(storage, 0, (nbytes,), (1,))


def _free_blocks(stream: int, device: int):
    for segment in torch.cuda.memory_snapshot():
        is_ours = segment["device"] == device and segment["stream"] == stream
        if is_ours and tuple(segment.get("segment_pool_id", (0, 0))) == (0, 0):  # others belong to CUDA graphs
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"] == "inactive":
                    yield address, block["size"]
                address += block["size"]


def _allocations(device: int) -> int:
    return torch.cuda.memory_stats_as_nested_dict(device)["allocation"]["all"]["allocated"]
