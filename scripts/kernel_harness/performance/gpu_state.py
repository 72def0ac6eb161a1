"""Clocks, power, throttling and foreign processes of the GPU, read from NVML in about a millisecond (stdlib only).

The scripts record this and never change a setting.
"""

from __future__ import annotations

import ctypes
import os

from ..processes.worker import descendants

SM_CLOCK, MEMORY_CLOCK = 1, 2   # nvmlClockType_t
REASONS = {0x4: "power cap", 0x8: "hardware slowdown", 0x20: "temperature (software)", 0x40: "temperature (hardware)",
           0x80: "power brake"}   # idle, application clocks and sync boost are no throttling
MOST_PROCESSES = 64


class _Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint),
                ("compute_instance", ctypes.c_uint)]


def read() -> dict | None:
    """What NVML says of the first visible GPU right now, under the names below; None without NVML."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    device = ctypes.c_void_p()
    if library.nvmlInit_v2() or _find(library, device):
        return None
    return {"sm_mhz": _number(library.nvmlDeviceGetClockInfo, device, SM_CLOCK),
            "memory_mhz": _number(library.nvmlDeviceGetClockInfo, device, MEMORY_CLOCK),
            "power_w": (_number(library.nvmlDeviceGetPowerUsage, device) or 0) / 1e3,
            "temperature_c": _number(library.nvmlDeviceGetTemperature, device, 0),
            "throttled_by": _throttled_by(library, device), "foreign_processes": _foreign(library, device)}


def _find(library, device) -> int:
    """Fill in the handle of the first of CUDA_VISIBLE_DEVICES, which PyTorch calls 0; NVML's return code."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    if first.startswith(("GPU-", "MIG-")):
        return library.nvmlDeviceGetHandleByUUID(first.encode(), ctypes.byref(device))
    return library.nvmlDeviceGetHandleByIndex_v2(int(first) if first.isdigit() else 0, ctypes.byref(device))


def _number(function, device, *arguments) -> int | None:
    value = ctypes.c_uint()
    return None if function(device, *arguments, ctypes.byref(value)) else value.value


def _throttled_by(library, device) -> list[str]:
    bits = ctypes.c_ulonglong()
    if library.nvmlDeviceGetCurrentClocksThrottleReasons(device, ctypes.byref(bits)):
        return []
    return [name for bit, name in REASONS.items() if bits.value & bit]


def _foreign(library, device) -> int | None:
    """Processes on this GPU that this one did not start; None where NVML does not say, or numbers them otherwise.

    In a container NVML may name processes as the host counts them: then not one of them is known here.
    """
    count, found = ctypes.c_uint(MOST_PROCESSES), (_Process * MOST_PROCESSES)()
    if library.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), found):
        return None
    own = {os.getpid(), *descendants(os.getpid())}
    foreign = sum(found[index].pid not in own for index in range(count.value))
    return None if foreign and foreign == count.value else foreign
