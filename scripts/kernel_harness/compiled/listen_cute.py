"""The CuTe DSL part of the stand-in: keep what it compiles, and record the launches of its compiled host code.

The host code is machine code that calls the CUDA runtime through functions exported by CuTe DSL's runtime library;
those are overwritten, in this process, with jumps to the functions below. Imports torch and cutlass.
"""

from __future__ import annotations

import ctypes
import platform
import struct

import torch

from . import cubin
from .stand_in import Compiled, Launch, Recorder, forged_capsule

CLUSTER_DIMENSION = 4  # cudaLaunchAttributeClusterDimension
FAT_BINARY = 0xBA55ED50


def listen(recorder: Recorder) -> None:
    from cutlass.base_dsl.env_manager import get_prefix_dsl_libs
    from cutlass.base_dsl.export.external_binary_module import ExternalBinaryModule
    from cutlass.base_dsl.runtime import cuda as runtime
    from cutlass.cutlass_dsl import cuda_jit_executor, tvm_ffi_provider
    from cutlass.cutlass_dsl.cutlass import CutlassBaseDSL
    from cutlass.utils import HardwareInfo

    compile_and_cache = CutlassBaseDSL.compile_and_cache

    def keeping(self, module, module_hash, function_name, *args, **kwargs):
        recorder.compiling += 1
        compiled = compile_and_cache(self, module, module_hash, function_name, *args, **kwargs)
        recorder.compiling -= 1
        name = kwargs.get("original_function_name") or function_name
        ptx, image = compiled.__ptx__, compiled.__cubin__
        # Where a file was not written, the attribute still holds its path.
        recorder.compiled.append(
            Compiled(
                "CuTe DSL", name, ptx if ptx and ".entry" in ptx else None, image if isinstance(image, bytes) else None
            )
        )
        return compiled

    CutlassBaseDSL.compile_and_cache = keeping
    cuda_jit_executor.CudaDialectJitCompiledFunction.num_devices = 1

    create = tvm_ffi_provider.TVMFFIJitCompiledFunctionBase._create_tvm_ffi_function

    def forging(self):
        function = create(self)
        return function and _for_cpu_tensors(function)

    tvm_ffi_provider.TVMFFIJitCompiledFunctionBase._create_tvm_ffi_function = forging

    get_function = ExternalBinaryModule.__getattr__
    ExternalBinaryModule.__getattr__ = lambda self, name: _for_cpu_tensors(get_function(self, name))

    properties = torch.cuda.get_device_properties(0)
    HardwareInfo.__init__ = lambda self, device_id=0: None
    HardwareInfo.get_device_multiprocessor_count = lambda self: properties.multi_processor_count
    HardwareInfo.get_max_active_clusters = lambda self, cluster_size, *_, **__: (
        properties.multi_processor_count // cluster_size
    )
    HardwareInfo.get_l2_cache_size_in_bytes = lambda self: properties.L2_cache_size
    runtime.get_device_attribute = lambda attribute, device_id=0: _attribute(properties, attribute)
    for path in filter(None, (get_prefix_dsl_libs("CUTE_DSL") or "").split(":")):
        if "cute_dsl_runtime" in path:
            _replace_entry_points(ctypes.CDLL(path), recorder)


def _attribute(properties, attribute) -> int:
    """What a launch asks while it compiles: min_blocks_per_mp > 1 needs the shared memory of a multiprocessor."""
    known = {
        "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": properties.shared_memory_per_multiprocessor,
        "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": properties.multi_processor_count,
    }
    if attribute.name not in known:
        raise NotImplementedError(f"the stand-in for a GPU does not know {attribute.name}")
    return known[attribute.name]


def _for_cpu_tensors(function):
    """A TVM FFI function for CPU tensors: it checks the device of a tensor before the host code runs."""
    import tvm_ffi

    if not isinstance(function, tvm_ffi.Function):
        return function

    class Forged:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **_):
            with torch._C.DisableTorchFunction():
                return forged_capsule(torch.from_dlpack(self.tensor))

        def __dlpack_device__(self):
            return 2, 0

    def call(*args):
        return function(*(tvm_ffi.from_dlpack(Forged(x)) if isinstance(x, tvm_ffi.Tensor) else x for x in args))

    return tvm_ffi.convert(call)


def _replace_entry_points(library: ctypes.CDLL, recorder: Recorder) -> None:
    """Answer the CUDA calls of CuTe DSL's host code ourselves.

    The host code is machine code that binds to this library's exported functions; each is overwritten with a jump.
    """
    images, kernels = {}, {}
    P, I, POINTER = ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)

    def load(out, code, *_):
        handle = 0x1000 + len(images)
        images[handle] = _image(code)
        ctypes.cast(out, POINTER)[0] = handle
        return 0

    def get_kernel(out, library, name):
        handle = 0x100000 + len(kernels)
        kernels[handle] = ctypes.string_at(name).decode(), _compiled_image(images.get(library), recorder)
        ctypes.cast(out, POINTER)[0] = handle
        return 0

    def init_once(state, init, load_to_device, _):
        # The host code of a TVM FFI function loads its library here, the first time that it is called.
        done_before = ctypes.cast(state, ctypes.POINTER(ctypes.c_int64))
        if not done_before[0]:
            library_handle = ctypes.c_void_p()
            ctypes.CFUNCTYPE(I, P)(init)(ctypes.addressof(library_handle))
            ctypes.CFUNCTYPE(I, P, I)(load_to_device)(ctypes.addressof(library_handle), 0)
            recorder.keep_alive.append(library_handle)
            done_before[0] = 1
        return 0

    def launch_ex(config, kernel, arguments):
        # cudaLaunchConfig_t { dim3 grid, block; size_t dynamicSmemBytes; stream; attribute *attrs; unsigned numAttrs; }
        dimensions = struct.unpack("<6I", ctypes.string_at(config, 24))
        shared, _, attributes, count = struct.unpack("<QQQI", ctypes.string_at(config + 24, 28))
        cluster = (1, 1, 1)
        for i in range(count):  # cudaLaunchAttribute { id; char pad[4]; union { ... } value; } of 72 bytes
            kind, *value = struct.unpack("<I4x3I", ctypes.string_at(attributes + 72 * i, 20))
            cluster = tuple(value) if kind == CLUSTER_DIMENSION else cluster
        return record(kernel, dimensions[:3], dimensions[3:], cluster, shared, arguments)

    def launch(kernel, gx, gy, gz, bx, by, bz, arguments, shared, _):
        return record(kernel, (gx, gy, gz), (bx, by, bz), (1, 1, 1), shared, arguments)

    def record(kernel, grid, block, cluster, shared, arguments):
        name, image = kernels[kernel]
        layout = cubin.read(image)[name].parameters if image else ()
        values = [ctypes.string_at(ctypes.cast(arguments, POINTER)[i], p.size) for i, p in enumerate(layout)]
        recorder.launch(Launch(name, grid, block, cluster, shared, values, image))
        return 0

    def answering(value):
        def answer(out, *_):
            ctypes.cast(out, ctypes.POINTER(I))[0] = value
            return 0

        return answer

    done, zero, one = lambda *_: 0, answering(0), answering(1)
    shared_limit = answering(1 << 20)  # all that host code asks of a device; the real limit is for occupancy.py
    replacements = {
        "_cudaLibraryLoadData": (load, P, P, P, P, I, P, P, I),
        "_cudaLibraryGetKernel": (get_kernel, P, P, P),
        "_cudaLibraryUnload": (done, P),
        "cuda_dialect_init_library_once": (init_once, P, P, P, P),
        "cuda_dialect_unload_library_once": (done, P),
        "_cudaLaunchKernelEx": (launch_ex, P, P, P),
        "_cudaLaunchKernel": (launch, P, I, I, I, I, I, I, P, ctypes.c_size_t, P),
        "_cuTensorMapEncodeTiled": (done, P),  # the descriptor stays as it was: no kernel reads it
        "_cudaOccupancyMaxActiveBlocksPerMultiprocessor": (one, P),
        "_cudaGetDeviceCount": (one, P),
        "_cudaGetDevice": (zero, P),
        "_cudaSetDevice": (done, I),
        "_cudaDeviceGetAttribute": (shared_limit, P, I, I),
        "_cuKernelGetAttribute": (zero, P, I, P, I),
        "_cudaFuncSetAttribute": (done, P, I, I),
        "_cudaKernelSetAttributeForDevice": (done, P, I, I, I),
        "_cudaDeviceSynchronize": (done,),
        "_cudaStreamSynchronize": (done, P),
        "_cudaGetLastError": (done,),
    }
    for name, (function, *types) in replacements.items():
        if hasattr(library, name):
            callback = ctypes.CFUNCTYPE(I, *types)(function)
            recorder.keep_alive.append(callback)
            _jump(ctypes.cast(getattr(library, name), P).value, ctypes.cast(callback, P).value)


def _jump(at: int, to: int) -> None:
    """Overwrite the machine code at ``at`` with a jump to ``to``."""
    if platform.machine() not in ("x86_64", "AMD64"):
        raise OSError(f"launches are recorded on x86-64 alone, this is {platform.machine()}")
    code = b"\x48\xb8" + struct.pack("<Q", to) + b"\xff\xe0"  # mov rax, to; jmp rax
    page = at & -4096
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(at + len(code) - page), 7):  # read, write, execute
        raise OSError(ctypes.get_errno(), "the runtime library of CuTe DSL cannot be made writable in this process")
    ctypes.memmove(at, code, len(code))


def _compiled_image(loaded: bytes | None, recorder: Recorder) -> bytes | None:
    """The cubin as the compiler gave it: in a fat binary it is padded. One that was compiled elsewhere is new."""
    if loaded is None:
        return None
    known = next((c.cubin for c in recorder.compiled if c.cubin and loaded.startswith(c.cubin)), None)
    if known is None:
        recorder.compiled.append(Compiled("CuTe DSL, loaded", "", None, loaded))
    return known or loaded


def _image(address: int) -> bytes | None:
    """The cubin inside the fat binary at ``address``; None when it is compressed."""
    magic, header, size = struct.unpack("<I2xHQ", ctypes.string_at(address, 16))
    if magic != FAT_BINARY:
        return None
    binary = ctypes.string_at(address, header + size)
    start = binary.find(b"\x7fELF")
    return binary[start:] if start >= 0 else None
