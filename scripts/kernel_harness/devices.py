"""Limits of named GPUs (standard library only): what decides occupancy, and the datasheet bandwidth.

Per-SM limits belong to the compute capability and come from the CUDA C++ Programming Guide, "Technical Specifications
per Compute Capability". SM counts, L2 and bandwidth belong to the product; each row names its source. Datasheet
bandwidth is context, never a ceiling: the benchmark measures the ceiling of the device that it runs on.
"""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True)
class Device:
    """One product. Bytes unless a name says otherwise; shared_per_block is the opt-in maximum of one CTA."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    shared_per_multiprocessor: int
    shared_per_block: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    l2_bytes: int
    bandwidth_gb_s: int
    source: str
    registers_per_multiprocessor: int = 65536

    @property
    def warps_per_multiprocessor(self) -> int:
        return self.threads_per_multiprocessor // 32


DEVICES = (
    Device("A100", (8, 0), 108, 164 * KIB, 163 * KIB, 2048, 32, 40 * KIB**2, 2039,
           "NVIDIA A100 Tensor Core GPU datasheet (80 GB SXM4); GA100 whitepaper for SMs and L2"),
    Device("H100", (9, 0), 132, 228 * KIB, 227 * KIB, 2048, 32, 50 * KIB**2, 3350,
           "NVIDIA H100 Tensor Core GPU datasheet (80 GB SXM5); GH100 whitepaper for SMs and L2"),
    Device("H200", (9, 0), 132, 228 * KIB, 227 * KIB, 2048, 32, 60 * KIB**2, 4800,
           "NVIDIA H200 Tensor Core GPU datasheet (141 GB SXM5); SMs and L2 as the CUDA runtime reports them"),
    Device("B200", (10, 0), 148, 228 * KIB, 227 * KIB, 2048, 32, 126 * KIB**2, 8000,
           "NVIDIA DGX B200 datasheet (64 TB/s over 8 GPUs); SMs and L2 from Chips and Cheese, Nvidia's B200"),
    Device("RTX 4090", (8, 9), 128, 100 * KIB, 99 * KIB, 1536, 24, 72 * KIB**2, 1008,
           "NVIDIA Ada GPU architecture whitepaper, GeForce RTX 4090"),
    Device("RTX 5090", (12, 0), 170, 100 * KIB, 99 * KIB, 1536, 24, 96 * KIB**2, 1792,
           "NVIDIA RTX Blackwell GPU architecture whitepaper, GeForce RTX 5090"),
)


def capability(arch: str) -> tuple[int, int]:
    """``sm_90a`` -> (9, 0), ``sm_120`` -> (12, 0)."""
    digits = arch.removeprefix("sm_").rstrip("af")
    return int(digits[:-1]), int(digits[-1])


def devices_for(arch: str) -> tuple[Device, ...]:
    """The named GPUs that run code compiled for ``arch``; () when none in the table does.

    A plain target such as sm_80 also runs on a later minor version of the same major one (RTX 4090 is 8.9). A target
    that ends in ``a`` runs on its own capability alone, one that ends in ``f`` within its major version. sm_100 (B200)
    and sm_120 (RTX 5090) are different machines that share the name Blackwell: neither runs the other's code.
    """
    major, minor = capability(arch)
    return tuple(d for d in DEVICES if d.capability == (major, minor)
                 or (not arch.endswith("a") and d.capability[0] == major and d.capability[1] >= minor))
