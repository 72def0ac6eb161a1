"""A kernel file in Triton whose kernel makes its tensor descriptors itself: c = a b."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    out = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(left.load([row, k]), right.load([k, column]), acc)
    out.store([row, column], acc)


def get_inputs(m=100, n=72, k=80, device="cuda"):
    """[a (m, k), b (k, n)] of float16; rows of a multiple of 16 bytes."""
    return [torch.randn(shape, device=device).half() for shape in ((m, k), (k, n))]


def reference_fn(a, b):
    return a.float() @ b.float()


def kernel_fn(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    triton.set_allocator(lambda nbytes, alignment, stream: torch.empty(nbytes, device="cuda", dtype=torch.int8))
    matmul_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 32))](c, a, b, M, N, K, BM=64, BN=32, BK=32)
    return c
