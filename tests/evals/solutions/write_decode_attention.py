"""Decode attention: a warp a head, the positions one after another; correct for any size, not tuned."""

import functools
import math

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Float32, Int32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

LOWEST = -3.4028234663852886e38


@cute.kernel
def _attention_kernel(mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mLengths: cute.Tensor, mO: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    head, batch, _ = cute.arch.block_idx()
    group = head // (mQ.shape[1] // mK.shape[2])
    rQ, rO = (cute.make_rmem_tensor((4,), Float32) for _ in range(2))
    for i in cutlass.range_constexpr(4):
        rQ[i] = mQ[batch, head, lane + 32 * i].to(Float32) * (1 / math.sqrt(128))
        rO[i] = Float32(0.0)
    peak, total = Float32(LOWEST), Float32(0.0)
    for s in cutlass.range(mLengths[batch]):
        score = Float32(0.0)
        for i in cutlass.range_constexpr(4):
            score += rQ[i] * mK[batch, s, group, lane + 32 * i].to(Float32)
        score = cute.arch.warp_reduction(score, lambda a, b: a + b)
        highest = cute.arch.fmax(peak, score)
        shrink, weight = cute.math.exp(peak - highest), cute.math.exp(score - highest)
        total = total * shrink + weight
        for i in cutlass.range_constexpr(4):
            rO[i] = rO[i] * shrink + weight * mV[batch, s, group, lane + 32 * i].to(Float32)
        peak = highest
    for i in cutlass.range_constexpr(4):
        mO[batch, head, lane + 32 * i] = (rO[i] / total).to(mO.element_type)


@cute.jit
def _attention(mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mLengths: cute.Tensor, mO: cute.Tensor,
               stream: cuda.CUstream):
    grid = (mQ.shape[1], mQ.shape[0], 1)
    _attention_kernel(mQ, mK, mV, mLengths, mO).launch(grid=grid, block=(32, 1, 1), stream=stream)


@functools.cache
def _compiled():
    tensors = []
    for dtype, rank in ((BFloat16, 3), (BFloat16, 4), (BFloat16, 4), (Int32, 1), (BFloat16, 3)):
        shape = tuple(cute.sym_int() for _ in range(rank))
        stride = (*(cute.sym_int() for _ in range(rank - 1)), 1)
        tensors.append(make_fake_tensor(dtype, shape, stride=stride, assumed_align=dtype.width // 8))
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(_attention, *tensors, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(q, k, v, lengths):
    out = torch.empty_like(q)
    _compiled()(q, k, v, lengths, out)
    return out
