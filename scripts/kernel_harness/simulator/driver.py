"""Runs programs of CuTe DSL, Triton and CUDA strings, unmodified, without a GPU: CPU tensors stand in for CUDA tensors.

    prepare("sm_90a")                      # before cutlass is imported
    with SimulatedDevice() as device:
        outputs = kernel_fn(*get_inputs())  # every launch runs in the simulator
    device.launches                         # one SimulationReport per launch
    device.findings                         # of all launches

Inside the context torch says "cuda" where it holds CPU tensors, so that code which checks devices sees what it expects.
Compiled functions that were made in the context stay redirected.
"""

import atexit
import contextlib
import ctypes
import importlib.util
import os
import shutil
import sys
import tempfile
import weakref

import numpy as np

from .findings import SimulationError
from .host import DEVICE_ATTRIBUTES, SM_COUNT
from .memory import Memory
from .parser import parse
from .simulate import WAVE_LANES, initialise, simulate
from .streams import Streams

_TARGETS = {"sm_80": (8, 0), "sm_90": (9, 0), "sm_90a": (9, 0), "sm_100a": (10, 0), "sm_120a": (12, 0)}


def prepare(arch, folder=None):
    """Sets the environment that CuTe DSL reads when it is imported: target, line information, PTX kept.

    The PTX lies in a folder of its own until the process exits, or in `folder` until the caller removes that: a process
    that may be killed removes nothing.
    """
    if "cutlass" in sys.modules:
        raise SimulationError(
            "import kernel_harness.simulator.driver and call prepare() before anything imports cutlass"
        )
    directory = tempfile.mkdtemp(prefix="simulated-ptx-", dir=folder)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    os.environ |= {
        "CUTE_DSL_ARCH": arch,
        "CUTE_DSL_LINEINFO": "1",
        "CUTE_DSL_KEEP": "ptx",
        "CUTE_DSL_DUMP_DIR": directory,
    }


class SimulatedDevice:
    """Context in which CuTe DSL and Triton launches are simulated.

    `launches` lists their reports, `findings` the findings of all of them. While `idle` is set, nothing is launched;
    while `turned` is, the CTAs of a launch start in the opposite order; while `familiar` is, what was launched before,
    as many CTAs of the same code, is left out and counted in `left_out`.
    profile: a Profile that collects counters per source line over all launches. wave_lanes: as for simulate().
    registers_of: (cubin, kernel name) -> registers per thread of a compiled kernel, for the rules that depend on them.
    multiprocessors: what the host code is told; with few, the CTAs of a persistent kernel take several tiles each.
    """

    def __init__(self, profile=None, wave_lanes=WAVE_LANES, registers_of=None, multiprocessors=None):
        self.multiprocessors = multiprocessors or DEVICE_ATTRIBUTES[SM_COUNT]
        self.launches, self.profile, self.wave_lanes = [], profile, wave_lanes
        self.registers_of = registers_of or (lambda cubin, kernel: None)
        self.read_only = set()  # addresses of the storages that no launch may write to
        self.arguments = []  # tensors given to the compiled function that runs: (label, tensor)
        self._addressed = {}  # storage address -> weak reference to a tensor whose data_ptr() was asked for
        self._unwritten = {}  # storage address -> (tensor kept alive, written mask)
        self._running = {}  # (address, bytes) of a storage -> mask of the bytes that launches write which may still run
        self._variables = {}  # PTX of a module -> its variables, which live as long as the module
        self.idle = self.turned = self.familiar = False
        self.left_out, self._known = 0, set()
        self.streams = Streams()
        self._exit = None

    @property
    def findings(self):
        return [*(finding for report in self.launches for finding in report.findings), *self.streams.findings]

    def __enter__(self):
        from . import cuda_device, dsl_device, torch_device

        self._exit = contextlib.ExitStack()
        self._exit.callback(DEVICE_ATTRIBUTES.update, {SM_COUNT: DEVICE_ATTRIBUTES[SM_COUNT]})
        DEVICE_ATTRIBUTES[SM_COUNT] = self.multiprocessors
        self._exit.enter_context(dsl_device.active(self))
        self._exit.enter_context(torch_device.pretend_cuda(self))
        self._exit.enter_context(cuda_device.active(self))
        if importlib.util.find_spec("triton"):
            from . import triton_device

            self._exit.enter_context(triton_device.active(self, compute_capability()))
        return self

    def __exit__(self, *exception):
        self._exit.close()

    # Called by the torch mode ------------------------------------------------------------------------------------

    def allocated(self, tensor):
        """`tensor` is fresh memory that nobody wrote."""
        storage = tensor.untyped_storage()
        if storage.nbytes():
            self._unwritten[storage.data_ptr()] = (tensor, np.zeros(storage.nbytes(), dtype=bool))

    def touched(self, tensor):
        """torch used `tensor` in a way that may have written it: in the stream after all launches so far."""
        self._running = {}
        if self._unwritten and tensor.layout is not None:
            entry = self._unwritten.get(tensor.untyped_storage().data_ptr())
            if entry:
                entry[1][:] = True

    def written(self, address, count):
        """The host wrote `count` bytes, as a copy in the stream after all launches so far."""
        self._running = {}
        for start, (_, mask) in self._unwritten.items():
            if start <= address < start + len(mask):
                mask[address - start : address - start + count] = True

    def variable(self, text, name):
        """The bytes of a module's variable, which the host may write: as declared, or as the launches left them."""
        held = self._variables.setdefault(text, {})
        if name not in held:
            declared = parse(text).variables[name]
            if any(isinstance(value, tuple) for value in declared.values):
                raise SimulationError(f"the host code copies {name}, whose value is an address: not simulated")
            held[name] = np.zeros(max(declared.nbytes, 1), dtype=np.uint8)
            initialise(declared, held[name], {})
        return held[name]

    def addressed(self, tensor):
        """`tensor` was asked for its address, which may reach a kernel as a number."""
        self._addressed[tensor.untyped_storage().data_ptr()] = weakref.ref(tensor)

    @property
    def modules(self):
        """The PTX of every module that a kernel was launched from."""
        return self._variables.keys()

    # Launches ----------------------------------------------------------------------------------------------------

    def launch(
        self, text, kernel, grid, block, cluster, shared_bytes, params, options=None, overlaps=False, stream=0
    ):
        """Simulates a launch on the memory of the tensors that are known, and keeps its report.

        options: LaunchOptions. overlaps: a programmatic dependent launch, which may begin before the last one ends.
        stream: a handle, 0 for the current one.
        """
        if self.idle:
            return
        code = (text, kernel, tuple(grid), tuple(block))
        if self.familiar and code in self._known:
            self.left_out += 1
            return
        self._known.add(code)
        self.streams.work(kernel, self.streams.by_handle(stream))
        memory = self._memory(self._variables.setdefault(text, {}))
        if not overlaps:
            self._running = {}
        for buffer in memory.allocations:
            buffer.pending = self._running.get((buffer.base, len(buffer)))
            buffer.marks = np.zeros(len(buffer), dtype=bool)
        report = simulate(
            text, kernel, grid, block, cluster, shared_bytes, params, memory, self.profile, self.wave_lanes, options,
            self.turned,
        )
        for buffer in memory.allocations:
            if buffer.pending is not None:
                buffer.marks |= buffer.pending
        self._running = {(b.base, len(b)): b.marks for b in memory.allocations if b.marks is not None}
        self.launches.append(report)

    def _memory(self, variables):
        memory = Memory(variables)
        by_address = [
            (f"the tensor of shape {tuple(t.shape)}", t)
            for t in (ref() for ref in self._addressed.values())
            if t is not None
        ]
        for label, tensor in by_address + self.arguments:
            storage = tensor.untyped_storage()
            if not storage.nbytes():
                continue
            address = storage.data_ptr()
            data = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (storage.nbytes(),))
            written = self._unwritten.get(address, (None, True))[1]
            description = (
                tensor.storage_offset() * tensor.element_size(),
                tuple(tensor.shape),
                tuple(tensor.stride()),
                tensor.element_size(),
            )
            memory.add(address, data, label, written, description, read_only=address in self.read_only)
        return memory


def run(function, *inputs, profile=None):
    """function(*inputs) with its launches simulated: (outputs, the SimulatedDevice with launches and findings)."""
    with SimulatedDevice(profile) as device:
        return function(*inputs), device


def compute_capability():
    """(major, minor) of the architecture that prepare() chose."""
    return _TARGETS[os.environ["CUTE_DSL_ARCH"]]
