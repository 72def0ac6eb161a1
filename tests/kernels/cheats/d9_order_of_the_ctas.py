"""The slot of each token among those of its expert, in the order of tokens, from an atomic counter for each expert:
right as long as the CTAs come in the order of their numbers.

catalogue: D9
seen at: a stranger's file of 25 November 2026, accepted then: dispatch of a mixture of experts
expect: WRONG_RESULT
needs: cutlass
check: cta-order
"""

import functools

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Int32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

THREADS = 32


@cute.kernel
def slots(mE: cute.Tensor, mNext: cute.Tensor, mSlot: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    token, expert = block * THREADS + lane, Int32(-1)
    if token < mE.shape[0]:
        expert = mE[token]
    same = Int32(cute.arch.match_sync(-1, expert, "any"))
    rank, first = Int32(cute.arch.popc(same & ((Int32(1) << lane) - 1))), Int32(0)
    if expert >= 0 and rank == 0:
        first = cute.arch.atomic_add(mNext.iterator + expert, Int32(cute.arch.popc(same)))
    first = cute.arch.shuffle_sync(first, Int32(cute.arch.popc((same & -same) - 1)))
    if token < mE.shape[0]:
        mSlot[token] = first + rank


@cute.jit
def launch(mE: cute.Tensor, mNext: cute.Tensor, mSlot: cute.Tensor, stream):
    grid = cute.ceil_div(mE.shape[0], THREADS), 1, 1
    slots(mE, mNext, mSlot).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


@functools.cache
def compiled():
    vectors = [make_fake_tensor(Int32, (cute.sym_int(),), stride=(1,), assumed_align=4) for _ in range(3)]
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(launch, *vectors, stream, options="--enable-tvm-ffi")


def kernel_fn(expert, experts):
    slot = torch.empty_like(expert)
    compiled()(expert, torch.zeros(experts, dtype=torch.int32, device=expert.device), slot)
    return slot


def reference_fn(expert, experts):
    chosen = torch.nn.functional.one_hot(expert.long(), experts)
    return ((chosen.cumsum(0) * chosen).sum(1) - 1).to(torch.int32)


def get_inputs(tokens=700, experts=8):
    return [torch.randint(0, experts, (tokens,), dtype=torch.int32, device="cuda"), experts]


TEST_CASES = {"odd": {"tokens": 77}}
ARCHS = ("sm_90a",)
