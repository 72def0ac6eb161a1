"""Row sums by as many CTAs as a GPU holds at a time, each of which goes from row to row: nothing keeps the partial sums
of the next row from overwriting those of the last one while they are still read. No case has a second row for a CTA.

catalogue: D9
seen at: held-out files of three strangers (unit rows, log-probabilities, a ring of TMA stages); right on an H200
expect: WRONG_RESULT
needs: cutlass
check: simulation
"""

import functools

import cutlass
import cutlass.cute as cute
import torch

TEST_CASES = {"odd": {"rows": 5, "n": 77}}


@cute.kernel
def device(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    first, _, _ = cute.arch.block_idx()
    part = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4), 16)
    for row in cutlass.range(first, x.shape[0], cute.arch.grid_dim()[0]):
        s = cutlass.Float32(0.0)
        for j in cutlass.range(t, x.shape[1], 128):
            s += x[row, j]
        s = cute.arch.warp_reduction_sum(s)
        if t % 32 == 0:
            part[t // 32] = s
        cute.arch.sync_threads()
        total = part[0] + part[1] + part[2] + part[3]
        if t == 0:
            y[row] = total


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, ctas: cutlass.Int32, stream):
    device(x, y).launch(grid=[ctas, 1, 1], block=[128, 1, 1], stream=stream)


@functools.cache
def compiled():
    rows, n = cute.sym_int(), cute.sym_int()
    x = cute.runtime.make_fake_tensor(cutlass.Float32, (rows, n), stride=(cute.sym_int64(), 1), assumed_align=4)
    y = cute.runtime.make_fake_tensor(cutlass.Float32, (rows,), stride=(1,), assumed_align=4)
    stream = cute.runtime.make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(launch, x, y, cutlass.Int32(1), stream, options="--enable-tvm-ffi")


def kernel_fn(x):
    y = torch.empty(x.shape[0], device=x.device)
    if y.numel():
        sms = torch.cuda.get_device_properties(x.device).multi_processor_count
        compiled()(x, y, min(len(x), 4 * sms))
    return y


def reference_fn(x):
    return x.sum(-1)


def get_inputs(rows=9, n=200, device="cuda"):
    return [torch.randn(rows, n, device=device)]
