"""What a result depends on besides the kernel: GPU, driver, package versions (torch and cutlass are asked lazily)."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = ("torch", "triton", "nvidia-cutlass-dsl", "apache-tvm-ffi")
GPU_FIELDS = (
    "name",
    "driver_version",
    "compute_cap",
    "memory.total",
    "clocks.sm",
    "clocks.max.sm",
    "clocks.mem",
    "power.draw",
    "temperature.gpu",
    "clocks_throttle_reasons.active",
    "uuid",
)


def describe() -> dict:
    """The environment of this run; ``gpu`` is None where there is none. Imports nothing heavy."""
    gpu = visible_gpu()
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "gpu": gpu and {name: value for name, value in gpu.items() if name != "uuid"},
        "cpu": _cpu_name(),
        "cpu_count": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{package.replace("-", "_"): version(package) for package in PACKAGES},
        "commit": commit(),
    }


def visible_gpu() -> dict | None:
    """The GPU that PyTorch calls 0: the first of CUDA_VISIBLE_DEVICES, by index or by (the beginning of) its UUID."""
    found, first = gpus(), os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    if first.isdigit():
        return found[int(first)] if int(first) < len(found) else None
    if first.startswith("MIG-") and len(found) == 1:
        return found[0]  # a part of the only one; nvidia-smi lists whole GPUs
    return next((gpu for gpu in found if gpu["uuid"].startswith(first)), None) if first else None


def version(package: str) -> str | None:
    """The installed version of a distribution, None when it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        # A package on PYTHONPATH without its metadata still has a version attribute once it is imported.
        module = sys.modules.get(package.replace("-", "_"))
        return getattr(module, "__version__", None)


def gpus() -> list[dict]:
    """One dict a GPU, from nvidia-smi; empty without a driver. Units: MiB, MHz, W, degrees Celsius."""
    if shutil.which("nvidia-smi") is None:
        return []
    query = ["nvidia-smi", f"--query-gpu={','.join(GPU_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        text = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [
        dict(
            zip(
                (
                    "name",
                    "driver",
                    "compute_capability",
                    "memory_mib",
                    "sm_mhz",
                    "max_sm_mhz",
                    "memory_mhz",
                    "power_w",
                    "temperature_c",
                    "throttle_reasons",
                    "uuid",
                ),
                (v.strip() for v in line.split(",")),
                strict=True,
            )
        )
        for line in text.strip().splitlines()
    ]


def commit() -> str | None:
    """The repository's commit (with ``+changes`` where the tree differs), None outside a checkout."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists() or shutil.which("git") is None:
        return None
    git = ["git", "-C", str(root)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
        dirty = subprocess.run(
            [*git, "status", "--porcelain", "-uno"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return head.stdout.strip() + ("+changes" if dirty.stdout.strip() else "")


def _cpu_name() -> str:
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.machine()
