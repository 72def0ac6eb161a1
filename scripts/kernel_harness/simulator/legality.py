"""What the driver refuses to launch and what the hardware does not take as an operand; every rule names its source.

The rules are data about one launch, tensor map or descriptor: nothing here runs anything. Sources: the CUDA C++
Programming Guide (13.0, "Technical Specifications per Compute Capability", "Thread Block Clusters", "Asynchronous Data
Copies using TMA"), the CUDA driver API (cuTensorMapEncodeTiled) and the PTX ISA manual (9.0).
"""

import functools
from dataclasses import dataclass

_GUIDE = "CUDA C++ Programming Guide, Technical Specifications per Compute Capability"
_ENCODE = "CUDA driver API, cuTensorMapEncodeTiled"
_DESCRIPTOR = "PTX ISA, wgmma: Matrix Descriptor"
_TENSOR_DESCRIPTOR = "PTX ISA, tcgen05: Shared memory descriptor"
_INSTRUCTION = "PTX ISA, tcgen05: Instruction descriptor"
REGISTERS_PER_CTA = 65536
MAX_TRANSACTION_BYTES = (1 << 20) - 1  # PTX ISA, mbarrier: "tx-count of mbarrier object"
_MAX_GRID, _MAX_BLOCK = (2**31 - 1, 65535, 65535), (1024, 1024, 64)
_STATIC_SHARED = 48 << 10  # what a launch may have without cudaFuncAttributeMaxDynamicSharedMemorySize
# Shared memory of one CTA, opt-in, by major.minor; other targets are not checked.
_SHARED = {"80": 163, "86": 99, "87": 163, "89": 99, "90": 227, "100": 227, "103": 227, "120": 99, "121": 99}
_SWIZZLE_REPEATS = {32: 256, 64: 512, 128: 1024}


@dataclass(frozen=True)
class LaunchOptions:
    """What the host code set beside the dimensions. registers: per thread, of the compiled kernel, None where unknown.

    shared_limit: bytes of cudaFuncAttributeMaxDynamicSharedMemorySize, None where the host code was not seen.
    largest_cluster: 8, or 16 with cudaFuncAttributeNonPortableClusterSizeAllowed.
    """

    registers: int | None = None
    shared_limit: int | None = None
    largest_cluster: int = 16


UNKNOWN = LaunchOptions()  # of a host program that was not seen


def launch_problems(module, kernel, launch, static_bytes, options):
    """Sentences that say why the driver would refuse this launch; [] for one that it takes."""
    problems = []

    def require(holds, sentence, source=_GUIDE):
        if not holds:
            problems.append(f"{sentence} ({source})")

    threads, cluster = launch.threads_per_cta, launch.ctas_per_cluster
    for name, given, most in (("grid", launch.grid, _MAX_GRID), ("block", launch.block, _MAX_BLOCK)):
        require(
            all(1 <= g <= m for g, m in zip(given, most, strict=True)), f"the {name} {given} is not within 1 and {most}"
        )
    require(threads <= 1024, f"a block of {threads} threads exceeds 1024")
    divides = all(c >= 1 and g % c == 0 for g, c in zip(launch.grid, launch.cluster, strict=True))
    clusters = "CUDA C++ Programming Guide, Thread Block Clusters"
    require(divides, f"the grid {launch.grid} is not a multiple of the cluster {launch.cluster}", clusters)
    require(
        cluster <= options.largest_cluster, f"a cluster of {cluster} CTAs exceeds {options.largest_cluster}", clusters
    )
    _require_directives(kernel, launch, require)
    _require_shared(module, launch, static_bytes, options, require)
    parameters = sum(parameter.nbytes for parameter in kernel.parameters)
    most = 32764 if _version(module) >= (8, 1) else 4096
    require(
        parameters <= most,
        f"{parameters} bytes of kernel parameters exceed {most}",
        "PTX ISA, Kernel Function Parameters",
    )
    registers = allocated(options.registers or 0)
    warps = -(-threads // 32)
    require(
        registers * 32 * warps <= REGISTERS_PER_CTA,
        f"{options.registers} registers for each of {threads} threads exceed {REGISTERS_PER_CTA}",
    )
    return problems


def allocated(registers):
    """Registers per thread as they are given out: in units of 256 for a warp."""
    return -(-registers // 8) * 8


def _version(module):
    return tuple(int(part) for part in (module.version or "0.0").split(".")[:2])


def _three(values):
    return tuple(values) + (1,) * (3 - len(values))


def _require_directives(kernel, launch, require):
    directives, source = kernel.directives, "PTX ISA, Performance-Tuning and Cluster Dimension Directives"
    if required := directives.get("reqntid"):
        require(
            _three(required) == tuple(launch.block),
            f"compiled for blocks of {required} threads, launched with {launch.block}",
            source,
        )
    if most := directives.get("maxntid"):
        x, y, z = _three(most)
        require(
            launch.threads_per_cta <= x * y * z,
            f"compiled for blocks of at most {x * y * z} threads, launched with {launch.block}",
            source,
        )
    if required := directives.get("reqnctapercluster"):
        require(
            _three(required) == tuple(launch.cluster),
            f"compiled for clusters of {required} CTAs, launched with {launch.cluster}",
            source,
        )
    if most := directives.get("maxclusterrank"):
        require(
            launch.ctas_per_cluster <= most[0],
            f"compiled for clusters of at most {most[0]} CTAs, launched with {launch.cluster}",
            source,
        )


def _require_shared(module, launch, static_bytes, options, require):
    target = module.target.split(",")[0].strip().removeprefix("sm_").rstrip("af")
    most = _SHARED.get(target, 1 << 20) << 10
    total = static_bytes + launch.shared_bytes
    require(total <= most, f"{total} bytes of shared memory exceed the {most} that a CTA of sm_{target} can have")
    require(static_bytes <= _STATIC_SHARED, f"{static_bytes} bytes of static shared memory exceed {_STATIC_SHARED}")
    if options.shared_limit is not None:
        limit = max(options.shared_limit, _STATIC_SHARED - static_bytes)
        require(
            launch.shared_bytes <= limit,
            f"{launch.shared_bytes} bytes of dynamic shared memory exceed the {limit} that the "
            "host code asked for with cudaFuncAttributeMaxDynamicSharedMemorySize",
        )


@functools.lru_cache(maxsize=256)
def tensor_map_problems(tensor_map):
    """Sentences that say what is wrong with a tensor map without interleave."""
    problems, inner = [], tensor_map.box[0] * tensor_map.element_bytes

    def require(holds, sentence):
        if not holds:
            problems.append(f"{sentence} ({_ENCODE})")

    require(1 <= len(tensor_map.dims) <= 5, f"a tensor map has 1 to 5 dimensions, not {len(tensor_map.dims)}")
    require(
        tensor_map.address % 16 == 0, f"the address 0x{tensor_map.address:x} of a tensor map is not a multiple of 16"
    )
    require(
        all(1 <= d <= 1 << 32 for d in tensor_map.dims),
        f"the dimensions {tensor_map.dims} of a tensor map are not within 1 and 2^32",
    )
    require(
        all(s % 16 == 0 and s < 1 << 40 for s in tensor_map.strides),
        f"the strides {tensor_map.strides} of a tensor map are not multiples of 16 bytes below 2^40",
    )
    require(
        all(1 <= b <= 256 for b in tensor_map.box), f"the box {tensor_map.box} of a tensor map is not within 1 and 256"
    )
    require(inner % 16 == 0, f"the inner side of a tensor map's box, {inner} bytes, is not a multiple of 16")
    require(
        not tensor_map.swizzle or inner <= tensor_map.swizzle,
        f"the inner side of a tensor map's box, {inner} bytes, exceeds its swizzle of {tensor_map.swizzle}",
    )
    return tuple(problems)


def descriptor_problem(descriptor, width):
    """What is wrong with a wgmma descriptor of the swizzle `width` (0: none), or ""."""
    if descriptor & 0x3FF1_C000_C000_C000:  # every bit that the manual's table leaves without a field
        return f"the descriptor 0x{descriptor:x} has bits set that belong to no field ({_DESCRIPTOR})"
    start, repeat = (descriptor & 0x3FFF) << 4, _SWIZZLE_REPEATS.get(width, 128)
    if width and start % repeat >= 128 and not descriptor >> 49 & 7:
        return (
            f"the tile at shared address 0x{start:x} starts past the first 128 bytes of its {repeat}-byte swizzle "
            f"pattern, and the descriptor's base offset is 0 ({_DESCRIPTOR})"
        )
    return ""


def tensor_descriptor_problem(descriptor, width):
    """What is wrong with a tcgen05 descriptor of the swizzle `width` (0: none), or "".

    Its tiles may start anywhere in the swizzle pattern: NVIDIA's dense_gemm.py aligns them to 128 bytes.
    """
    if descriptor & 0x1FE0_0000_C000_C000 or descriptor >> 46 & 7 != 1:
        return (
            f"the descriptor 0x{descriptor:x} has bits set that belong to no field, or not 0b001 in its bits 46 to 48 "
            f"({_TENSOR_DESCRIPTOR})"
        )
    if descriptor >> 61 in (3, 5, 7):
        return f"the descriptor's swizzle mode {descriptor >> 61} does not exist ({_TENSOR_DESCRIPTOR})"
    return ""


def tensor_shape_problem(m, n, group, kind, stationary):
    """What is wrong with the shape of a tcgen05.mma, or ""; stationary: .ws."""
    if stationary:
        legal = group == 1 and m in (32, 64, 128) and n in (64, 128, 256)
    else:
        steps = {(1, 64): 8, (1, 128): 16, (2, 128): 32, (2, 256): 32}
        if kind.startswith("mx"):
            steps = {(1, 128): 8, (2, 128): 16, (2, 256): 16}
        step = steps.get((group, m))
        if kind == "i8" and step == 8 and n > 24:
            step = 16
        legal = step is not None and n % step == 0 and step <= n <= 256
    name = ".ws" if stationary else f".cta_group::{group}"
    return "" if legal else f"tcgen05.mma{name} of kind::{kind} has no shape of M {m}, N {n} ({_INSTRUCTION})"
