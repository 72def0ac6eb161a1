import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def broken_kernel(gX: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    gX[thread] = cute.no_such_function(gX[thread])


@cute.jit
def broken(mX: cute.Tensor):
    broken_kernel(mX).launch(grid=(1, 1, 1), block=(32, 1, 1))


def kernel_fn(x):
    cute.compile(broken, from_dlpack(x))(from_dlpack(x))
    return x


def reference_fn(x):
    return x


def get_inputs():
    return [torch.randn(32, device="cuda")]
