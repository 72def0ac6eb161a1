"""relu(A @ B^T + bias) in Triton with tensor descriptors made on the host: TMA on Hopper, plain accesses before it.

catalogue: tricky because each descriptor becomes a tensor map, its shape and its strides on the way to the kernel
seen at: Triton's tutorial 09, persistent matrix products
expect: PASS
needs: triton
check: values
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BM, BN, BK = 64, 64, 64


@triton.jit
def mm_desc(a_desc, b_desc, bias_ptr, d_desc, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = a_desc.load([pm * BM, k])
        b = b_desc.load([pn * BN, k])
        acc = tl.dot(a, b.T, acc)
    cols = pn * BN + tl.arange(0, BN)
    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0)
    acc += bias[None, :]
    acc = tl.where(acc < 0, 0.0, acc)
    d_desc.store([pm * BM, pn * BN], acc.to(tl.bfloat16))


def kernel_fn(a, b, bias):
    M, K = a.shape
    N = b.shape[0]
    if K % 8 or N % 8 or a.stride() != (K, 1) or b.stride() != (K, 1) or (a.data_ptr() | b.data_ptr()) % 16:
        raise ValueError("TMA needs contiguous rows of a multiple of 16 bytes")
    d = torch.empty(M, N, device=a.device, dtype=torch.bfloat16)
    args = (TensorDescriptor.from_tensor(a, [BM, BK]), TensorDescriptor.from_tensor(b, [BN, BK]), bias,
            TensorDescriptor.from_tensor(d, [BM, BN]))
    mm_desc[(triton.cdiv(M, BM), triton.cdiv(N, BN))](*args, N, K, BM, BN, BK, num_warps=4)
    return d


def reference_fn(a, b, bias):
    wide = torch.promote_types(a.dtype, torch.float32)
    return torch.relu(a.to(wide) @ b.to(wide).T + bias.to(wide)).to(a.dtype)


def get_inputs(m=128, n=128, k=192):
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    return [a, b, torch.randn(n, device="cuda")]


TEST_CASES = {"ragged": {"m": 50, "n": 72, "k": 104}}
