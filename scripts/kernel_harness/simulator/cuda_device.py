"""CUDA C++ on the simulated device: strings given to torch.cuda._compile_kernel, and extensions with host code in C++
(torch.utils.cpp_extension), run as the PTX that nvcc makes of them."""

import contextlib
import ctypes
import os
import sys
from unittest import mock

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..compiled import cuda_extension, cuda_source
from ..compiled.import_hook import after_import
from .findings import SimulationError
from .legality import LaunchOptions
from .parser import parse

_PORTABLE_CLUSTER, _LARGE_CLUSTER = 8, 16
_FRESH = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}


@contextlib.contextmanager
def active(device):
    """Kernels that are compiled from source inside this context launch on `device`."""
    from torch.cuda import _utils

    def launch(kernel, grid, block, arguments, shared_bytes, tensors):
        entry = parse(kernel.code.ptx).kernels[kernel.name]
        if len(arguments) != len(entry.parameters):
            raise TypeError(f"{kernel.name} takes {len(entry.parameters)} arguments, not {len(arguments)}")
        for index, (value, parameter) in enumerate(zip(arguments, entry.parameters, strict=True)):
            if len(value) < parameter.nbytes:
                raise TypeError(
                    f"argument {index} of {kernel.name} has {len(value)} bytes where the kernel takes "
                    f"{parameter.nbytes}: PyTorch passes a Python integer as an int of 32 bits"
                )
        device.arguments = [(f"argument {index}", tensor) for index, tensor in tensors.items()]
        registers = device.registers_of(kernel.code.cubin, kernel.name)
        options = LaunchOptions(registers, kernel.shared_limit, _PORTABLE_CLUSTER)
        cluster = _declared_cluster(entry)
        device.launch(kernel.code.ptx, kernel.name, grid, block, cluster, shared_bytes, arguments, options)

    arch = os.environ["CUTE_DSL_ARCH"]
    if cuda_source.nvcc():
        functions = cuda_source.stand_ins(arch, launch)
    else:

        def missing(*_, **__):
            raise SimulationError("torch.cuda._compile_kernel needs nvcc where there is no GPU, and there is none")

        functions = dict.fromkeys(("_nvrtc_compile", "_cuda_load_module"), missing)
    with contextlib.ExitStack() as stack:
        for name, function in functions.items():
            stack.enter_context(mock.patch.object(_utils, name, function))
        host = _Host(device)

        def replace_builds():
            module = sys.modules[cuda_extension.MODULE]
            for name, function in cuda_extension.stand_ins(arch, host).items():
                stack.enter_context(mock.patch.object(module, name, function))

        stack.callback(after_import(cuda_extension.MODULE, replace_builds))
        yield


def _declared_cluster(entry):
    """A plain launch takes the size that the source declares with __cluster_dims__."""
    return (*entry.directives.get("reqnctapercluster", ()), 1, 1, 1)[:3]


class _Host(cuda_extension.Host):
    """Launches of an extension's host code, on `device`; what PyTorch does for that code is known to the device."""

    def __init__(self, device):
        super().__init__()
        self.device = device

    def launch(self, launch):
        entry = parse(launch.code.ptx).kernels[launch.kernel]
        self.device.arguments = []
        registers = self.device.registers_of(launch.code.cubin, launch.kernel)
        clusters = _LARGE_CLUSTER if launch.large_cluster else _PORTABLE_CLUSTER
        cluster = launch.cluster if launch.cluster != (1, 1, 1) else _declared_cluster(entry)
        dimensions = launch.grid, launch.block, cluster
        options = LaunchOptions(registers, launch.shared_limit, clusters)
        asked = launch.shared_bytes, launch.parameters, options, launch.overlaps
        self.device.launch(launch.code.ptx, launch.kernel, *dimensions, *asked)

    def fresh(self, tensor):
        self.device.allocated(tensor)
        self.device.addressed(tensor)

    def written(self, address, count):
        self.device.written(address, count)

    def symbol(self, code, name, offset, address, count, is_written):
        variable = self.device.variable(code.ptx, name)
        if offset + count > len(variable):
            raise SimulationError(f"the host copies {count} bytes at {offset} of {name}, which has {len(variable)}")
        memory = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (count,))
        inside = variable[offset : offset + count]
        if is_written:
            inside[:] = memory
        else:
            memory[:] = inside
            self.device.written(address, count)

    def call(self, arguments):
        for value in filter(_has_memory, tree_leaves(arguments)):
            self.device.addressed(value)
        return _Operations(self.device)


class _Operations(TorchDispatchMode):
    """What the C++ code lets PyTorch do: fresh memory, results that somebody wrote, and their addresses."""

    def __init__(self, device):
        super().__init__()
        self.device, self.kept = device, []  # C++ keeps the memory, this the tensors by which the device knows it

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        for tensor in filter(_has_memory, result if isinstance(result, (tuple, list)) else [result]):
            self.kept.append(tensor)
            self.device.addressed(tensor)
            if name in _FRESH:
                self.device.allocated(tensor)
            elif not function.is_view:
                self.device.touched(tensor)
        return result


def _has_memory(value):
    return isinstance(value, torch.Tensor) and value.layout is torch.strided
