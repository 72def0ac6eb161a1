"""512 threads that want more than 256 values each: the registers cannot hold them."""
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import from_dlpack

VALUES = 256
EXPECT = {"sm_90a": {"spill_bytes": 0}}


@cute.kernel
def mix_kernel(gX: cute.Tensor, gO: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    values = cute.make_rmem_tensor((VALUES,), Float32)
    for i in cutlass.range_constexpr(VALUES):
        values[i] = gX[thread * VALUES + i]
    for _ in range(10):
        for i in cutlass.range_constexpr(VALUES):
            values[i] = values[i] * values[(i + 7) % VALUES] + values[(i * 3) % VALUES]
    for i in cutlass.range_constexpr(VALUES):
        gO[thread + i * 512] = values[i]


@cute.jit
def mix(mX: cute.Tensor, mO: cute.Tensor):
    mix_kernel(mX, mO).launch(grid=(1, 1, 1), block=(512, 1, 1))


def get_inputs():
    return [torch.randn(512 * VALUES, device="cuda")]


def kernel_fn(x):
    out = torch.empty_like(x)
    mix(from_dlpack(x), from_dlpack(out))   # no cute.compile: the jit function compiles itself
    return out


def reference_fn(x):
    return x
