"""What a call costs the host: TVM FFI with torch tensors against from_dlpack and the plain calling convention.

Four ways to call the same compiled function of two tensors, in turn, in batches; the median batch is reported. First an
empty host function, which needs no GPU: the cost of the arguments alone. Where there is a GPU, then one that launches a
kernel of one CTA on torch's current stream: arguments and launch, while the device is never the bottleneck.

  python examples/integration/tvm_ffi_cost.py
  python examples/integration/tvm_ffi_cost.py --batches 50 --calls 500
"""

import argparse
import os
import statistics
import time

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")  # read when cutlass is imported

import cuda.bindings.driver as cuda
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack, make_fake_stream


@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    mY[thread] = mX[thread]


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
    copy_kernel(mX, mY).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)


@cute.jit
def empty(mX: cute.Tensor, mY: cute.Tensor):
    pass


def described(t):
    """The tensor as the plain convention takes it: dynamic size, accesses of 16 bytes allowed."""
    return from_dlpack(t, assumed_align=16).mark_compact_shape_dynamic(mode=0, stride_order=(0,), divisibility=4)


def ways(function, x, y, on_stream):
    """{name: a call of `function` on x and y}; each has been made once. on_stream: its last parameter is a stream."""
    environment = (make_fake_stream(use_tvm_ffi_env_stream=True),) if on_stream else ()
    ffi = cute.compile(function, described(x), described(y), *environment, options="--enable-tvm-ffi")
    raw = ffi.__tvm_ffi_object__()
    plain = cute.compile(function, described(x), described(y), *((make_fake_stream(),) if on_stream else ()))
    fixed = described(x), described(y)

    def stream():
        return (cuda.CUstream(torch.cuda.current_stream().cuda_stream),) if on_stream else ()

    calls = {
        "TVM FFI, __tvm_ffi_object__": lambda: raw(x, y),
        "TVM FFI, what cute.compile returns": lambda: ffi(x, y),
        "from_dlpack once, then plain calls": lambda: plain(*fixed, *stream()),
        "from_dlpack in each plain call": lambda: plain(described(x), described(y), *stream()),
    }
    for call in calls.values():
        call()
    return calls


def measure(calls, batches, count, synchronize):
    """{name: seconds of a call, a list of one number a batch}; the ways take turns."""
    seconds = {name: [] for name in calls}
    for _ in range(batches):
        for name, call in calls.items():
            synchronize()  # so that no launch waits for room in the queue
            start = time.perf_counter()
            for _ in range(count):
                call()
            seconds[name].append((time.perf_counter() - start) / count)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--calls", type=int, default=200, help="calls of a batch, below the depth of a stream's queue")
    options = parser.parse_args()
    has_gpu = torch.cuda.is_available()
    device, synchronize = ("cuda", torch.cuda.synchronize) if has_gpu else ("cpu", lambda: None)
    x, y = (torch.zeros(1024, device=device) for _ in range(2))
    for what, function in (("arguments", empty), ("arguments and launch", copy))[: 1 + has_gpu]:
        calls = ways(function, x, y, on_stream=function is copy)
        for name, seconds in measure(calls, options.batches, options.calls, synchronize).items():
            print(f'CALL what="{what}" way="{name}" device={device} median_us={1e6 * statistics.median(seconds):.3g} '
                  f"fastest_us={1e6 * min(seconds):.3g} slowest_us={1e6 * max(seconds):.3g}")  # fmt: skip
    if not has_gpu:
        print("no GPU here: only the arguments of an empty function on CPU tensors were timed, no launch")


if __name__ == "__main__":
    main()
