"""A stand-in for the CUDA runtime below CuTe DSL's compiled host code.

The host code that nvidia-cutlass-dsl 4.8.1 generates is an MLIR module that calls a dozen functions of its runtime
library (`_cudaLaunchKernelEx`, `_cudaLibraryGetKernel`, ...). Before the module is compiled for the CPU, `redirect`
gives each of these declarations a body that calls back into Python. The host code itself runs as it would on a GPU:
grids, parameter structs and tensor maps are the ones that the hardware would get.
"""

import ctypes
import re
import struct
from dataclasses import dataclass, field

from .findings import SimulationError
from .legality import LaunchOptions
from .tensor_copies import TensorMap

_TYPES = {"ptr": ctypes.c_void_p, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "void": None}
SM_COUNT = 16  # cudaDevAttrMultiProcessorCount
# cudaDeviceAttr -> value of an H200, for those that launch code asks for.
DEVICE_ATTRIBUTES = {
    1: 1024,
    8: 49152,
    10: 32,
    12: 65536,
    SM_COUNT: 132,
    39: 2048,
    75: 9,
    76: 0,
    81: 233472,
    97: 232448,
    106: 32,
    120: 1,
}
_CLUSTER_DIMENSION, _PROGRAMMATIC = 4, 6  # cudaLaunchAttributeClusterDimension, ...ProgrammaticStreamSerialization
_DYNAMIC_SHARED, _LARGE_CLUSTERS = (
    8,
    14,
)  # cudaFuncAttributeMaxDynamicSharedMemorySize, ...NonPortableClusterSizeAllowed
_DRIVER_TO_MAP_TYPE = {
    0: 0,
    1: 1,
    2: 2,
    3: 3,
    4: 4,
    5: 5,
    6: 6,
    7: 7,
    8: 9,
    9: 10,
    10: 8,
}  # CUtensorMapDataType -> bits of the descriptor


_FAT_BINARY = 0xBA55ED50


@dataclass
class HostLaunch:
    """A launch as the host code asked for it; `arguments` are the addresses of the kernel's parameters."""

    kernel: str
    grid: tuple
    block: tuple
    cluster: tuple
    shared_bytes: int
    arguments: int
    overlaps: bool = False  # a programmatic dependent launch
    attributes: dict = field(default_factory=dict)  # cudaFuncAttribute -> value, of the kernel
    stream: int = 0  # a handle
    image: bytes | None = None  # the cubin that the kernel was loaded from

    @property
    def options(self):
        """LaunchOptions without the registers."""
        clusters = 16 if self.attributes.get(_LARGE_CLUSTERS) else 8
        return LaunchOptions(None, self.attributes.get(_DYNAMIC_SHARED, 0), clusters)


class _Configuration(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint32),
    ]


class _Attribute(ctypes.Structure):
    _fields_ = [("identifier", ctypes.c_uint32), ("padding", ctypes.c_byte * 4), ("value", ctypes.c_uint32 * 16)]


def _write(address, ctype, value):
    ctypes.cast(address, ctypes.POINTER(ctype))[0] = value
    return 0


def _image(address):
    """The cubin inside the fat binary at `address`, None where it is compressed or something else."""
    magic, header, size = struct.unpack("<I2xHQ", ctypes.string_at(address, 16))
    if magic != _FAT_BINARY:
        return None
    binary = ctypes.string_at(address, header + size)
    start = binary.find(b"\x7fELF")
    return binary[start:] if start >= 0 else None


class FakeRuntime:
    """The functions that host code may call. `launch(HostLaunch)` executes; its exceptions are kept in `error`."""

    def __init__(self, launch):
        self.launch, self.error = launch, None
        self._names, self._alive, self._addresses = [], [], {}
        self._images, self._image_of, self._attributes = [], {}, {}  # by library; by kernel name; by kernel handle

    # Functions, named as the host code declares them -------------------------------------------------------------

    def _cudaLaunchKernelEx(self, configuration, kernel, arguments):
        config = _Configuration.from_address(configuration)
        cluster, overlaps = (1, 1, 1), False
        for index in range(config.attribute_count):
            attribute = _Attribute.from_address(config.attributes + index * ctypes.sizeof(_Attribute))
            if attribute.identifier == _CLUSTER_DIMENSION:
                cluster = tuple(attribute.value[:3])
            overlaps |= attribute.identifier == _PROGRAMMATIC and attribute.value[0] != 0
        grid, block = tuple(config.grid), tuple(config.block)
        return self._run(kernel, grid, block, cluster, config.shared_bytes, arguments, overlaps, config.stream)

    def _cudaLaunchKernel(self, kernel, gx, gy, gz, bx, by, bz, arguments, shared_bytes, stream):
        return self._run(kernel, (gx, gy, gz), (bx, by, bz), (1, 1, 1), shared_bytes, arguments, False, stream)

    def _run(self, kernel, grid, block, cluster, shared_bytes, arguments, overlaps, stream):
        name = self._names[kernel - 1]
        launch = HostLaunch(name, grid, block, cluster, shared_bytes, arguments, overlaps, stream=stream or 0)
        launch.attributes, launch.image = self._attributes.get(kernel, {}), self._image_of.get(kernel)
        # An exception cannot cross the host code: it is kept, and raised when the call returns.
        if self.error is None:
            try:
                self.launch(launch)
            except BaseException as error:
                self.error = error
        return 0

    def _cudaLibraryLoadData(self, library, code, *_):
        self._images.append(_image(code))
        return _write(library, ctypes.c_uint64, len(self._images))

    def _cudaLibraryGetKernel(self, kernel, library, name):
        self._names.append(ctypes.string_at(name).decode())
        self._image_of[len(self._names)] = self._images[library - 1] if library else None
        return _write(kernel, ctypes.c_uint64, len(self._names))

    def _cudaDeviceGetAttribute(self, value, attribute, device):
        if attribute not in DEVICE_ATTRIBUTES:
            self.error = self.error or SimulationError(
                f"the host code asks for device attribute {attribute}, which the simulator does not know"
            )
            return 1
        return _write(value, ctypes.c_int32, DEVICE_ATTRIBUTES[attribute])

    def _cudaGetDevice(self, device):
        return _write(device, ctypes.c_int32, 0)

    def _cudaGetDeviceCount(self, count):
        return _write(count, ctypes.c_int32, 1)

    def _cuKernelGetAttribute(self, value, attribute, kernel, device):
        return _write(value, ctypes.c_int32, 0)

    def _cudaOccupancyMaxActiveBlocksPerMultiprocessor(self, blocks, *_):
        return _write(blocks, ctypes.c_int32, 1)

    def _succeed(self, *_):
        return 0

    def _cudaKernelSetAttributeForDevice(self, kernel, attribute, value, *_):
        self._attributes.setdefault(kernel, {})[attribute] = value
        return 0

    _cudaFuncSetAttribute = _cudaKernelSetAttributeForDevice
    _cudaSetDevice = _succeed
    _cudaStreamSynchronize = _cudaDeviceSynchronize = _succeed

    def cuda_dialect_init_library_once(self, state, initialise, load, set_error):
        if not ctypes.c_uint64.from_address(state).value:
            slot = ctypes.c_uint64(0)
            self._alive.append(slot)
            ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(initialise)(ctypes.addressof(slot))
            ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)(load)(ctypes.addressof(slot), 0)
            _write(state, ctypes.c_uint64, ctypes.addressof(slot))
        return 0

    def cuda_dialect_unload_library_once(self, state):
        return None

    def CuteDSLRT_TVMFFISetRaisedCudaError(self, set_error, code):
        self.error = self.error or SimulationError(f"the host code failed with CUDA error {code}")

    CuteDSLRT_TVMFFISetRaisedCudaLaunchError = CuteDSLRT_TVMFFISetRaisedCudaError

    def _cuTensorMapEncodeTiled(
        self, target, kind, rank, address, dims, strides, box, traversal, interleave, swizzle, promotion, fill
    ):
        def array(pointer, count, ctype):
            return tuple(ctypes.cast(pointer, ctypes.POINTER(ctype))[:count])

        if interleave or any(step != 1 for step in array(traversal, rank, ctypes.c_uint32)):
            self.error = SimulationError(
                "tensor maps with interleave or traversal strides are not implemented in the simulator"
            )
            return 1
        dims, strides = array(dims, rank, ctypes.c_uint64), array(strides, rank - 1, ctypes.c_uint64)
        box, width = array(box, rank, ctypes.c_uint32), (0, 32, 64, 128)[swizzle]
        tensor_map = TensorMap(address, _DRIVER_TO_MAP_TYPE[kind], dims, strides, box, width, bool(fill))
        ctypes.memmove(target, tensor_map.encode(), 128)
        return 0

    # Redirection -------------------------------------------------------------------------------------------------

    def redirect(self, module):
        """Gives the module's declarations of runtime functions bodies that call this object."""
        from cutlass._mlir import ir

        with module.context, ir.Location.unknown():
            for operation in list(module.body.operations):
                if operation.operation.name != "llvm.func":
                    continue
                name = operation.operation.attributes["sym_name"].value
                if not re.match(r"_cu|cuda_dialect_|CuteDSLRT_", name) or len(operation.operation.regions[0].blocks):
                    continue
                signature = str(operation.operation.attributes["function_type"])
                operation.operation.erase()
                module.body.append(ir.Operation.parse(self._stub(name, signature)))

    def _stub(self, name, signature):
        result, parameters = re.match(r"!llvm\.func<(\w+) \(([^)]*)\)>", signature).groups()
        parameters = [p.strip() for p in parameters.split(",") if p.strip()]
        address = self._callback(name, result, tuple(parameters))
        spell = lambda kind: f"!llvm.{kind}" if kind in ("ptr", "void") else kind
        types = ", ".join(spell(p) for p in parameters)
        arguments = ", ".join(f"%a{i}: {spell(p)}" for i, p in enumerate(parameters))
        values = ", ".join(f"%a{i}" for i in range(len(parameters)))
        returns = result != "void"
        value = spell(result) if returns else "()"
        return f"""llvm.func @{name}({arguments}){f" -> {spell(result)}" if returns else ""} {{
            %address = llvm.mlir.constant({address} : i64) : i64
            %function = llvm.inttoptr %address : i64 to !llvm.ptr
            {"%result = " if returns else ""}llvm.call %function({values}) : !llvm.ptr, ({types}) -> {value}
            llvm.return {f"%result : {spell(result)}" if returns else ""}
        }}"""

    def _callback(self, name, result, parameters):
        key = (name, result, parameters)
        if key not in self._addresses:
            method = getattr(self, name, None)
            if method is None:

                def method(*_):
                    self.error = self.error or SimulationError(
                        f"the host code calls {name}, which the simulator does not provide"
                    )
                    return 1

            function = ctypes.CFUNCTYPE(_TYPES[result], *(_TYPES[p] for p in parameters))(
                lambda *a: method(*(x or 0 for x in a))
            )
            self._alive.append(function)
            self._addresses[key] = ctypes.cast(function, ctypes.c_void_p).value
        return self._addresses[key]
