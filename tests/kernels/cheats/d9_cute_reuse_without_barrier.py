"""Writes a second partial sum into shared memory that other warps may still read for the first: one barrier is missing.

catalogue: D9
seen at: held-out file of a stranger; an H200 gave right results in every trial of a verification
expect: WRONG_RESULT
needs: cutlass
check: simulation
"""
import functools

import cutlass
import cutlass.cute as cute
import torch


@cute.kernel
def device(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    part = smem.allocate_tensor(cutlass.Float32, cute.make_layout(128), 16)
    s = cutlass.Float32(0.0)
    for j in range(t, n, 128):
        s += x[row * n + j]
    part[t] = s
    cute.arch.sync_threads()
    total = cutlass.Float32(0.0)
    for j in range(128):
        total += part[j]
    mean = total / n
    s = cutlass.Float32(0.0)
    for j in range(t, n, 128):
        d = x[row * n + j] - mean
        s += d * d
    part[t] = s
    cute.arch.sync_threads()
    total = cutlass.Float32(0.0)
    for j in range(128):
        total += part[j]
    if t == 0:
        y[row] = total / n


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32, stream):
    device(x, y, n).launch(grid=[cute.size(y), 1, 1], block=[128, 1, 1], stream=stream)


@functools.cache
def compiled():
    x = cute.runtime.make_fake_tensor(cutlass.Float32, (cute.sym_int(),), stride=(1,), assumed_align=4)
    y = cute.runtime.make_fake_tensor(cutlass.Float32, (cute.sym_int(),), stride=(1,), assumed_align=4)
    stream = cute.runtime.make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(launch, x, y, cutlass.Int32(1), stream, options="--enable-tvm-ffi")


def kernel_fn(x):
    y = torch.empty(x.shape[0], device=x.device)
    compiled()(x.view(-1), y, x.shape[1])
    return y


def reference_fn(x):
    return x.var(-1, unbiased=False)


def get_inputs(rows=3, n=200, device="cuda"):
    return [torch.randn(rows, n, device=device)]


TEST_CASES = {"odd": {"rows": 2, "n": 77}}
