"""Memory as the kernel sees it: global allocations at their addresses, and per-CTA and per-thread windows.

Every access goes through `Space.locate`, which turns addresses into offsets of one buffer or reports which lanes are
outside every allocation. Buffers remember which bytes were written, so that reads of unwritten memory can be told.
"""

import bisect

import numpy as np

SHARED_BASE = 0x400  # the first bytes of the shared window belong to the system, as on the hardware
SHARED_WINDOW = 0x7F40_0000_0000_0000  # generic address of shared::cluster address 0
LOCAL_WINDOW = 0x7F50_0000_0000_0000
PARAMETER_WINDOW = 0x7F60_0000_0000_0000
CTA_SHIFT = 24  # shared::cluster address = (rank of the CTA in its cluster) << 24 | offset
SNAPSHOT_BYTES = 2**28  # of memory that a launch with a race is run again on


_WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_ALL_TRUE = {size: int.from_bytes(b"\1" * size, "little") for size in _WORDS}  # as many bytes of a mask


def _words(array, offsets, nbytes):
    """Accesses of `nbytes` each to an array of bytes, in the widest words that fit: (words, their (n, k) indices).

    Fewer, wider words are what makes indexing fast.
    """
    size = min(nbytes & -nbytes, 8)
    if size > 1 and int(np.bitwise_or.reduce(offsets)) & (size - 1):
        size = 1
    words = array[: len(array) // size * size].view(_WORDS[size])
    first = (offsets // size if size > 1 else offsets)[:, None]
    return words, first + np.arange(nbytes // size) if nbytes > size else first


class Buffer:
    """Bytes with an optional record of which were written (True: all; False: none; or a mask that is kept up to date).

    tensor: (byte offset, shape, strides in elements, bytes per element), to name coordinates in findings.
    """

    def __init__(self, data, base=0, label="", written=True, tensor=None, read_only=False):
        self.data, self.base, self.label, self.tensor = data, base, label, tensor
        self.written = (
            written if isinstance(written, np.ndarray) else None if written else np.zeros(len(data), dtype=bool)
        )
        self.read_only, self.is_global = read_only, False
        self.marks = None  # mask of the bytes that this launch writes, where somebody wants to know
        self.pending = None  # mask of the bytes that launches write which may still run
        self.swizzles = None  # of each 16 bytes that a tensor copy was the last to write: 1 + its swizzle / 32; else 0

    def __len__(self):
        return len(self.data)

    def coordinates(self, offset, *, beyond=False):
        """Tensor coordinates of a byte offset, or None. beyond: those that it would have if the tensor went on."""
        if self.tensor is None:
            return None
        start, shape, strides, itemsize = self.tensor
        element, result = (offset - start) // itemsize, [0] * len(shape)
        for axis in sorted(range(len(shape)), key=lambda i: -strides[i]):
            if strides[axis] > 0 and shape[axis] > 1:
                result[axis], element = divmod(element, strides[axis])
        inside = all(0 <= c < n for c, n in zip(result, shape, strict=True))
        return tuple(result) if element == 0 and (inside or beyond) else None

    def gather(self, offsets, nbytes):
        """(n, nbytes) uint8 for n byte offsets."""
        words, where = _words(self.data, offsets, nbytes)
        return words[where].view(np.uint8)

    def scatter(self, offsets, rows):
        """Writes (n, nbytes) uint8 rows; where offsets repeat, the last lane wins."""
        words, where = _words(self.data, offsets, rows.shape[1])
        words[where] = np.ascontiguousarray(rows).view(words.dtype)
        for mask in (self.written, self.marks):
            if mask is not None:
                words, where = _words(mask, offsets, rows.shape[1])
                words[where] = _ALL_TRUE[words.itemsize]
        if self.swizzles is not None:
            self.swizzles[offsets >> 4] = 0

    def lay(self, offsets, swizzle):
        """Note that a tensor copy wrote there, with a swizzle of so many bytes or 0."""
        if self.swizzles is None:
            self.swizzles = np.zeros(len(self.data) // 16 + 1, dtype=np.uint8)
        self.swizzles[offsets >> 4] = 1 + swizzle // 32

    def laid_otherwise(self, offsets, swizzle):
        """The swizzle of a tensor copy that wrote there with another one than this, or None."""
        if self.swizzles is None:
            return None
        found = self.swizzles[offsets >> 4]
        others = found[(found > 0) & (found != 1 + swizzle // 32)]
        return 32 * (int(others[0]) - 1) if len(others) else None

    def unwritten(self, offsets, nbytes):
        """Which of the accesses read a byte that nobody wrote."""
        if self.written is None:
            return None
        words, where = _words(self.written, offsets, nbytes)
        missing = (words[where] != _ALL_TRUE[words.itemsize]).any(axis=1)
        return missing if missing.any() else None


class Memory:
    """Global memory: allocations at absolute addresses.

    `add` registers memory that exists (a tensor's storage, at its own address); `allocate` makes new memory.
    variables: name -> bytes (uint8 array) of the module's variables as the launches before left them.
    """

    def __init__(self, variables=None):
        self.variables = {} if variables is None else variables
        self.allocations, self._bases = [], []
        self._next = 0x6000_0000_0000
        self._last = None

    def add(self, address, data, label="", written=True, tensor=None, read_only=False):
        """Registers `data` (uint8 array) at `address`; an allocation that is already there is replaced."""
        index = bisect.bisect_left(self._bases, address)
        if index < len(self._bases) and self._bases[index] == address:
            del self._bases[index], self.allocations[index]
        buffer = Buffer(data, address, label, written, tensor, read_only)
        self._bases.insert(index, address)
        self.allocations.insert(index, buffer)
        self._last, buffer.is_global = buffer, True
        return buffer

    def allocate(self, nbytes, label="", written=False, align=256):
        """New zeroed memory of `nbytes`, with a guard gap on each side. Returns its Buffer."""
        data = np.zeros(nbytes + align, dtype=np.uint8)
        skip = -data.ctypes.data % align
        address = self._next
        self._next += (nbytes + 2 * 4096) // 4096 * 4096 + 4096
        return self.add(address, data[skip : skip + nbytes], label, written)

    def find(self, address):
        """The allocation that holds `address`, or the nearest one below it, or None."""
        index = bisect.bisect_right(self._bases, address) - 1
        return self.allocations[index] if index >= 0 else None

    def nearest(self, address):
        """The allocation that is least far from `address`, or None."""
        return min(self.allocations, key=lambda b: max(b.base - address, address - b.base - len(b)), default=None)

    def snapshot(self):
        """A Snapshot of every allocation; None where that is too much to keep."""
        arrays = [
            array
            for buffer in self.allocations
            for array in (buffer.data, buffer.written, buffer.marks, buffer.pending)
            if array is not None and array.flags.writeable
        ]
        if sum(array.nbytes for array in arrays) > SNAPSHOT_BYTES:
            return None  # of a large allocation a launch may touch little
        return Snapshot(arrays)

    def read(self, address, nbytes):
        buffer = self.find(address)
        offset = address - buffer.base
        return buffer.data[offset : offset + nbytes]

    def locate(self, addresses, lanes, nbytes):
        """Splits lane addresses by allocation: [(buffer, positions, offsets)], and positions that are outside."""
        buffer = self._last
        if buffer is not None:
            offsets = addresses - np.uint64(buffer.base)  # an address below the base wraps to a huge offset
            limit = len(buffer) - nbytes
            if limit >= 0 and (offsets <= np.uint64(limit)).all():
                return [(buffer, slice(None), offsets.astype(np.int64))], ()
        owner = np.searchsorted(np.array(self._bases, dtype=np.uint64), addresses, side="right") - 1
        parts, outside = [], []
        for index in np.unique(owner):
            positions = np.flatnonzero(owner == index)
            if index < 0:
                outside.append(positions)
                continue
            buffer = self.allocations[index]
            offsets = (addresses[positions] - np.uint64(buffer.base)).astype(np.int64)
            inside = offsets <= len(buffer) - nbytes
            if inside.any():
                parts.append((buffer, positions[inside], offsets[inside]))
                self._last = buffer
            if not inside.all():
                outside.append(positions[~inside])
        return parts, np.concatenate(outside) if outside else ()


class Snapshot:
    def __init__(self, arrays):
        self._kept = [(array, array.copy()) for array in arrays]

    def restore(self):
        for array, before in self._kept:
            if not np.array_equal(array, before):  # unchanged memory may be such as none may write to
                array[:] = before

    def still_holds(self):
        return all((array == before).all() for array, before in self._kept)


class Window:
    """Per-CTA (shared) or per-lane (local) memory: one buffer with a stride per owner."""

    def __init__(self, owners, nbytes, base, label, owner_of):
        self.nbytes, self.base, self.owner_of = nbytes, base, owner_of
        self.stride = (nbytes + 15) // 16 * 16 + 16
        self.buffer = Buffer(np.zeros(owners * self.stride + 16, dtype=np.uint8), 0, label, written=False)

    def offsets(self, addresses, lanes):
        """Offsets in the buffer, and which addresses are within the owner's bytes."""
        owner, offset = self.owner_of(addresses.astype(np.int64), lanes)
        return owner * self.stride + offset - self.base, offset - self.base

    def locate(self, addresses, lanes, nbytes):
        flat, offset = self.offsets(addresses, lanes)
        inside = (offset >= 0) & (offset <= self.nbytes - nbytes) & (flat >= 0) & (flat < len(self.buffer) - nbytes)
        if inside.all():
            return [(self.buffer, slice(None), flat)], ()
        positions = np.flatnonzero(inside)
        return ([(self.buffer, positions, flat[positions])] if len(positions) else []), np.flatnonzero(~inside)
