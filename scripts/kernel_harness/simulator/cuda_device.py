"""CUDA C++ on the simulated device: what torch.cuda._compile_kernel is given runs as the PTX that nvcc makes of it."""

import contextlib
import os
from unittest import mock

from .. import cuda_source
from .findings import SimulationError
from .legality import LaunchOptions
from .parser import parse

_PORTABLE_CLUSTER = 8


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
        # A plain launch takes the size that the source declares with __cluster_dims__.
        cluster = (*entry.directives.get("reqnctapercluster", ()), 1, 1, 1)[:3]
        device.launch(kernel.code.ptx, kernel.name, grid, block, cluster, shared_bytes, arguments, options)

    if cuda_source.nvcc():
        functions = cuda_source.stand_ins(os.environ["CUTE_DSL_ARCH"], launch)
    else:

        def missing(*_, **__):
            raise SimulationError("torch.cuda._compile_kernel needs nvcc where there is no GPU, and there is none")

        functions = dict.fromkeys(("_nvrtc_compile", "_cuda_load_module"), missing)
    with contextlib.ExitStack() as stack:
        for name, function in functions.items():
            stack.enter_context(mock.patch.object(_utils, name, function))
        yield
