"""How many CTAs of a kernel fit on one SM, and which resource says so (standard library only)."""

from __future__ import annotations

from dataclasses import dataclass

from ..devices import Device

WARP = 32
REGISTERS_PER_WARP_UNIT = 256   # allocation unit of registers, per warp; all capabilities from 8.0 to 12.0
WARP_UNIT = 4                   # warps are spread over four SM partitions
SHARED_UNIT = 128               # allocation unit of shared memory, bytes
SHARED_RESERVED = 1024          # held back by the driver for every CTA, from capability 8.0 on


@dataclass(frozen=True)
class Occupancy:
    """blocks: resident CTAs per SM; warps: of these; fraction: warps over the SM's limit; limited_by: the resource.

    ``limited_by`` is one of registers, shared memory, threads, blocks; or, with 0 blocks, a sentence that says why the
    kernel cannot be launched on this device.
    """

    device: str
    blocks: int
    warps: int
    fraction: float
    limited_by: str


def occupancy(device: Device, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """Occupancy of CTAs with ``threads``, ``registers`` per thread and ``shared_bytes`` (static plus dynamic)."""
    warps = -(-threads // WARP)
    if threads > 1024:
        return Occupancy(device.name, 0, 0, 0.0, f"has {threads} threads in a CTA, and at most 1024 fit")
    if shared_bytes > device.shared_per_block:
        return Occupancy(device.name, 0, 0, 0.0, f"needs {shared_bytes} bytes of shared memory per CTA, "
                                                 f"{device.name} gives {device.shared_per_block}")
    per_warp = _round_up(registers * WARP, REGISTERS_PER_WARP_UNIT)
    partition = device.registers_per_multiprocessor // WARP_UNIT
    warps_by_registers = partition // per_warp * WARP_UNIT if registers else device.warps_per_multiprocessor
    limits = {
        "threads": device.warps_per_multiprocessor // warps,
        "blocks": device.blocks_per_multiprocessor,
        "registers": warps_by_registers // warps,
        "shared memory": device.shared_per_multiprocessor // (_round_up(shared_bytes, SHARED_UNIT) + SHARED_RESERVED),
    }
    blocks = min(limits.values())
    limited_by = next(name for name, limit in limits.items() if limit == blocks)
    if blocks == 0:
        limited_by = f"needs {registers} registers for each of {threads} threads, an SM has 65536"
    return Occupancy(device.name, blocks, blocks * warps, blocks * warps / device.warps_per_multiprocessor, limited_by)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
