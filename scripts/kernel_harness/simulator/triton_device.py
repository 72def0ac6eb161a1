"""Triton on the simulated device: a driver whose launcher runs the PTX that Triton compiled.

Triton compiles for the architecture that `driver.prepare` chose; the driver and launcher interfaces are those of
Triton 3.2 to 3.9. Tensor descriptors made on the host need Triton 3.9 and one without im2col or rounding to TF32.
"""

import contextlib
import struct
import types

from .findings import SimulationError, UnsupportedInstruction
from .host import DEVICE_ATTRIBUTES
from .tensor_copies import TensorMap

_PACK = {"fp32": "<f", "f32": "<f", "fp64": "<d", "f64": "<d", "fp16": "<e", "f16": "<e"}


def _parameters(value, kind, descriptors):
    """[(value, kind)] of the kernel parameters that an argument becomes; descriptors: what Triton's compiler says of
    the tensor maps, in order, or None where it takes them apart for want of TMA."""
    if kind == "constexpr":
        return []
    if isinstance(kind, tuple):
        return [pair for item in zip(value, kind, strict=True) for pair in _parameters(*item, descriptors)]
    if not kind.startswith("tensordesc"):
        return [(value, kind)]
    shape, strides = [(n, "i32") for n in value.shape], [(n, "i64") for n in value.strides]
    is_nan = value.padding == "nan"
    if descriptors is None:
        flags = [(is_nan, "i1"), (value.round_f32_to_tf32, "i1")]
        return [(value.base, "*"), *((n, "i64") for n, _ in shape), *strides, *flags, *shape, *strides]
    facts = next(descriptors)
    if value.round_f32_to_tf32 or facts.get("is_im2col") or facts.get("fp4_padded"):
        raise UnsupportedInstruction(f"a Triton argument {kind} of this kind is not implemented in the simulator")
    sizes, box, steps = (tuple(reversed(list(n))) for n in (value.shape, facts["block_size"], value.strides))
    steps, swizzle = tuple(n * facts["elem_size"] for n in steps[1:]), (0, 32, 64, 128)[facts["swizzle"]]
    tensor_map = TensorMap(value.base.data_ptr(), facts["elem_type"], sizes, steps, box, swizzle, is_nan)
    return [(tensor_map.encode(), "map"), *shape, *strides]


def _pack(value, kind, nbytes):
    """A launch argument as the kernel parameter's bytes."""
    if kind == "map":
        return value
    if kind.startswith("*"):
        address = value.data_ptr() if hasattr(value, "data_ptr") else int(value or 0)
        return address.to_bytes(8, "little")
    if kind in _PACK:
        return struct.pack(_PACK[kind], value)
    if kind[0] in "iu" and kind[1:].isdigit():
        return (int(value) % (1 << 8 * nbytes)).to_bytes(nbytes, "little")
    raise UnsupportedInstruction(f"a Triton argument of type {kind} is not implemented in the simulator")


class _Driver:
    """What Triton asks its active driver for."""

    def __init__(self, device, capability):
        from triton.backends.compiler import GPUTarget

        self._target = GPUTarget("cuda", capability[0] * 10 + capability[1], 32)
        self._capability = capability
        self.launcher_cls = lambda source, metadata: _Launcher(device, source, metadata)
        properties = {"max_shared_mem": DEVICE_ATTRIBUTES[97], "multiprocessor_count": DEVICE_ATTRIBUTES[16]}
        self.utils = types.SimpleNamespace(
            get_device_properties=lambda index: properties | {"max_num_regs": 65536, "warpSize": 32},
            # module, function, registers, spills, threads; no module: Triton would unload it, when this driver is gone
            load_binary=lambda name, binary, shared, index: (None, 1, 32, 0, 1024),
        )

    def get_current_target(self):
        return self._target

    def get_current_device(self):
        return 0

    def set_current_device(self, index):
        return None

    def get_current_stream(self, index=None):
        return 0

    def get_device_capability(self, index=0):
        return self._capability

    def get_active_torch_device(self):
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self):
        import torch

        return torch.cuda

    def get_benchmarker(self):
        """Autotuning takes the first configuration: time means nothing here."""
        return lambda function, quantiles=None, **_: [1.0] * len(quantiles) if quantiles else 1.0


class _Launcher:
    def __init__(self, device, source, metadata):
        from triton.runtime.cache import get_cache_manager

        path = get_cache_manager(metadata.hash).get_file(f"{metadata.name}.ptx")
        if path is None:
            raise SimulationError(
                f"Triton's cache holds no PTX of {metadata.name}; clear ~/.triton/cache and try again"
            )
        with open(path) as file:
            self.ptx = file.read()
        self.device, self.metadata = device, metadata
        self.kinds = list(source.signature.values())

    def __call__(self, x, y, z, stream, function, kernel_metadata, launch_metadata, enter, leave, *args):
        from .parser import parse

        kernel = parse(self.ptx).kernels[self.metadata.name]
        descriptors = getattr(self.metadata, "tensordesc_meta", None)
        descriptors = iter(descriptors) if descriptors else None
        given = [pair for item in zip(args, self.kinds, strict=True) for pair in _parameters(*item, descriptors)]
        scratch = self._scratch(x * y * z)
        given += [(value, "*i8") for value in (scratch, 0)[: len(kernel.parameters) - len(given)]]
        params = [_pack(value, kind, p.nbytes) for (value, kind), p in zip(given, kernel.parameters, strict=True)]
        clusters = getattr(self.metadata, "num_ctas", 1)
        block = kernel.directives.get("reqntid", (32 * self.metadata.num_warps,))
        block = tuple(block) + (1,) * (3 - len(block))
        self.device.launch(
            self.ptx, self.metadata.name, (x * clusters, y, z), block, (clusters, 1, 1), self.metadata.shared, params
        )

    def _scratch(self, programs):
        """The global memory that the kernel asks for, from the allocator that its author set; 0 where it asks for none.

        Tensor descriptors that a kernel makes lie there.
        """
        nbytes = getattr(self.metadata, "global_scratch_size", 0)
        if not nbytes:
            return 0
        from triton.runtime._allocation import _allocator

        nbytes *= programs * getattr(self.metadata, "num_ctas", 1)
        return _allocator.get()(nbytes, self.metadata.global_scratch_align, 0)


@contextlib.contextmanager
def active(device, capability):
    """Triton launches run on `device` inside this context."""
    from triton.runtime.driver import driver

    before = getattr(driver, "_active", None)
    driver.set_active(_Driver(device, capability))
    try:
        yield
    finally:
        driver.set_active(before)  # reset_active would look for a real GPU
