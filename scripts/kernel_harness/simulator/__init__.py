"""A PTX simulator: runs a kernel's PTX on the CPU and reports what hardware keeps to itself.

It knows PTX, memory and launches, and nothing of verdicts or reports. `simulate` runs one launch; `driver.run` runs a
CuTe DSL host function, unmodified, against a driver that executes its launches here. Needs NumPy.

Looked at before writing one (November 2026), none with mbarriers, TMA or WGMMA: GPU Ocelot (PTX 2 to 3, unmaintained),
GPGPU-Sim and Accel-Sim (PTX for functional runs up to sm_75-era WMMA), chisuhua/PTX-EMU (tensor cores are stubs),
endingly/ptxsim (a few instruction forms, no asynchronous memory), tinygrad's test/mockgpu (NumPy, whole grid, mma.sync,
no checks), romnn/microgpusim (a front end for timing).
"""

import numpy

if int(numpy.__version__.split(".")[0]) < 2:
    raise ImportError("the simulator needs NumPy 2 or newer: pip install --upgrade numpy")

from .findings import Finding, PtxSyntaxError, SimulationError, SimulationReport, UnsupportedInstruction
from .memory import Memory
from .profile import Profile
from .simulate import simulate

__all__ = [
    "Finding",
    "Memory",
    "Profile",
    "PtxSyntaxError",
    "SimulationError",
    "SimulationReport",
    "UnsupportedInstruction",
    "simulate",
]
