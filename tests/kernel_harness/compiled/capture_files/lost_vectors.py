"""A copy whose input lost its alignment through mark_layout_dynamic: 16-bit loads instead of 128-bit ones."""
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

VALUES = 8


@cute.kernel
def copy_kernel(gX: cute.Tensor, gO: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    tXgX = cute.local_tile(gX, (1, VALUES), (row, thread))
    tOgO = cute.local_tile(gO, (1, VALUES), (row, thread))
    cute.autovec_copy(tXgX, tOgO)


@cute.jit
def copy(mX: cute.Tensor, mO: cute.Tensor):
    copy_kernel(mX, mO).launch(grid=(cute.size(mX, mode=[0]), 1, 1), block=(32, 1, 1))


def get_inputs(vectors=False, device="cuda"):
    return [torch.randn(64, 32 * VALUES, device=device, dtype=torch.bfloat16), vectors]


TEST_CASES = {"vectors": {"vectors": True}}


def kernel_fn(x, vectors):
    out = torch.empty_like(x)
    tensors = [from_dlpack(t, assumed_align=16) for t in (x, out)]
    if vectors:
        tensors = [t.mark_compact_shape_dynamic(mode=1, stride_order=(0, 1), divisibility=8) for t in tensors]
    else:
        tensors = [t.mark_layout_dynamic(leading_dim=1) for t in tensors]
    cute.compile(copy, *tensors)(*tensors)
    return out


def reference_fn(x, vectors):
    return x.clone()
