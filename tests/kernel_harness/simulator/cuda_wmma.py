"""CUDA C++ with wmma: (2 a b + c, rows in reverse), 64 by 64 sums per CTA of four warps, one tile of 16 columns each.

`broken` leaves out a __syncthreads(): of shared memory before the products, or of global memory between its two passes.
"""

import torch

SOURCE = """
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void gemm(const half* a, const half* b, const float* c, float* out, float* scratch, int k) {
    __shared__ __align__(32) half tile[64 * 24];
    int warp = threadIdx.x / 32, n = 64;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4], old;
    for (int i = 0; i < 4; ++i) wmma::fill_fragment(sums[i], 0.0f);
    for (int start = 0; start < k; start += 16) {
        for (int i = threadIdx.x; i < 1024; i += 128) tile[i / 16 * 24 + i % 16] = a[i / 16 * k + start + i % 16];
        SHARED
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
        wmma::load_matrix_sync(right, b + warp * 16 * k + start, k);
        for (int i = 0; i < 4; ++i) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
            wmma::load_matrix_sync(left, tile + i * 16 * 24, 24);
            wmma::mma_sync(sums[i], left, right, sums[i]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        wmma::load_matrix_sync(old, c + i * 16 * n + warp * 16, n, wmma::mem_row_major);
        for (int j = 0; j < old.num_elements; ++j) old.x[j] += 2.0f * sums[i].x[j];
        wmma::store_matrix_sync(scratch + i * 16 * n + warp * 16, old, n, wmma::mem_row_major);
    }
    GLOBAL
    for (int i = threadIdx.x; i < 4096; i += 128) out[i] = scratch[(63 - i / 64) * 64 + i % 64];
}
"""


def get_inputs(k=48, broken="", device="cuda"):
    """[a (64, k), b (64, k) whose rows are the columns of the product, c (64, 64), which barrier is missing]."""
    halves = [torch.randn(64, k, device=device).to(torch.float16) for _ in range(2)]
    return [*halves, torch.randn(64, 64, device=device), broken]


def reference_fn(a, b, c, broken):
    return (2 * a.float() @ b.float().T + c).flip(0)


def kernel_fn(a, b, c, broken):
    source = SOURCE
    for place in ("SHARED", "GLOBAL"):
        source = source.replace(place, "" if place == broken else "__syncthreads();")
    out, scratch = torch.empty_like(c), torch.empty_like(c)
    kernel = torch.cuda._compile_kernel(source, "gemm")
    kernel(grid=(1, 1, 1), block=(128, 1, 1), args=[a, b, c, out, scratch, a.shape[1]])
    return out
