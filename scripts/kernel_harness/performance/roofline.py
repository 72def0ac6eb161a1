"""What the device can do at best, measured in this run, and how close a kernel comes to it (torch, lazily).

Datasheet peaks are promises about other cards at other clocks. Here the copy, the read, the write and the matrix
product are timed by the same clock, minutes apart from the kernel, on the same device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

SLACK = 0.95   # a time this far under its floor is still put down to the measurement; less is refused
STREAM_BYTES = {"cuda": 1 << 30, "cpu": 1 << 28}   # past the caches
MATRIX_SIZES = {"cuda": (4096, 8192), "cpu": (512, 1024)}   # power may hold back a large one, its tail a small one


@dataclass(frozen=True)
class Ceilings:
    """Measured limits: bytes a second by kind of traffic, floating-point operations a second, the shortest launch."""

    copy: float
    read: float
    write: float
    flops: float | None
    flops_of: str | None
    launch_us: float
    l2_bytes: int

    @property
    def bandwidth(self) -> float:
        """The fastest that any traffic went: no kernel is promised less."""
        return max(self.copy, self.read, self.write)

    def to_json(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Roofline:
    """One kernel under the ceilings. limit: what the floor consists of; percent: floor over time."""

    bytes_per_second: float
    flops_per_second: float | None
    floor_us: float
    limit: str
    percent: float
    refusal: str | None

    def to_json(self) -> dict:
        return asdict(self)


def place(device_us: float, facts: Mapping, ceilings: Ceilings) -> Roofline:
    """Where a time stands. facts: bytes_moved, bytes_are_counted, output_bytes, and flops or None."""
    bytes_us = facts["bytes_moved"] / ceilings.bandwidth * 1e6
    flops = facts.get("flops")
    flops_us = flops / ceilings.flops * 1e6 if flops and ceilings.flops else 0.0
    floors = {"memory": bytes_us, "compute": flops_us, "launch": ceilings.launch_us}
    limit = max(floors, key=lambda name: floors[name])
    return Roofline(
        bytes_per_second=facts["bytes_moved"] / device_us * 1e6 if device_us else 0.0,
        flops_per_second=flops / device_us * 1e6 if flops and device_us else None,
        floor_us=floors[limit], limit=limit,
        percent=100 * floors[limit] / device_us if device_us else 0.0,
        refusal=_refusal(device_us, facts, flops_us, ceilings))


def _refusal(device_us: float, facts: Mapping, flops_us: float, ceilings: Ceilings) -> str | None:
    """Why this time cannot be true, or None.

    Only what must reach memory counts: the author's own byte count, else the outputs, less one L2 that may still hold
    them when the call is over. An input need not be read in full (a gather), so undeclared input bytes prove nothing.
    """
    must_move = facts["bytes_moved"] if facts.get("bytes_are_counted") else facts["output_bytes"]
    bytes_us = max(0, must_move - ceilings.l2_bytes) / ceilings.bandwidth * 1e6
    if device_us < SLACK * bytes_us:
        rate = must_move / max(device_us, 1e-9) / 1e6
        return (f"faster than physics: {must_move:,} bytes in {device_us:.2f} us would be {rate:.2f} TB/s, and the "
                f"fastest traffic measured on this device is {ceilings.bandwidth / 1e12:.2f} TB/s; either the work was "
                "not done in the call or bytes_moved() counts too much")
    if device_us < SLACK * flops_us:
        rate = facts["flops"] / max(device_us, 1e-9) / 1e6
        return (f"faster than physics: {facts['flops']:,.0f} operations in {device_us:.2f} us would be {rate:.0f} "
                f"TFLOP/s, and a {ceilings.flops_of} matrix product reaches {ceilings.flops / 1e12:.0f} here; either "
                "the work was not done in the call or flops() counts too much")
    return None


def measure(timer, device: str, dtype: str | None) -> Ceilings:
    """Time the ceilings with ``timer`` on an idle device. dtype: of the matrix product, None for none."""
    import torch

    size = STREAM_BYTES[device]
    source = torch.randn(size // 4, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    rows = source.view(1 << 12, -1)
    tiny = torch.zeros(1, device=device)
    copy_us = _best(timer, lambda: target.copy_(source))
    read_us = min(_best(timer, lambda: rows.amax(1)), _best(timer, lambda: rows.sum(1)))
    write_us = _best(timer, lambda: target.fill_(1.0))
    launch_us = _best(timer, lambda: tiny.fill_(1.0))
    flops = _matrix_flops(timer, device, getattr(torch, dtype)) if dtype else None
    return Ceilings(2e6 * size / copy_us, 1e6 * size / read_us, 1e6 * size / write_us, flops, dtype if flops else None,
                    launch_us, timer.l2_bytes)


def _best(timer, call, count: int = 6) -> float:
    """The shortest of a few: a ceiling is what the device can do, not what it usually does."""
    call()
    return min(one.device_us for one in timer.burst(lambda _: call(), count).calls)


def _matrix_flops(timer, device: str, dtype) -> float | None:
    """The fastest of a few square matrix products of ``dtype`` on random data; None where PyTorch has none. For int8 at
    least twice that of bfloat16, as tensor cores have it: PyTorch's own is no ceiling (973 of 1611 TOPS on an H200)."""
    import torch

    best = None
    if dtype is torch.int8:
        rate = _matrix_flops(timer, device, torch.bfloat16)
        best = rate and 2 * rate
    for size in MATRIX_SIZES[device]:
        if dtype in (torch.float64, torch.float32) and size > MATRIX_SIZES["cuda"][0]:
            continue
        try:
            call = _product(torch, device, dtype, size)
            rate = 2e6 * size**3 / _best(timer, call)
        except (RuntimeError, NotImplementedError, AttributeError, TypeError):
            return best
        best = rate if best is None else max(best, rate)
    return best


def _product(torch, device: str, dtype, size: int):
    if dtype is torch.int8:
        a, b = (torch.randint(-127, 128, (size, size), dtype=dtype, device=device) for _ in range(2))
        return lambda: torch._int_mm(a, b.T)
    a = torch.randn(size, size, device=device).to(dtype)
    b = torch.randn(size, size, device=device).to(dtype)
    if dtype.itemsize == 1 and dtype.is_floating_point:
        one = torch.ones((), device=device)
        return lambda: torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    return lambda: torch.matmul(a, b)
