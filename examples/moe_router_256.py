"""Router of a mixture of experts (top-k) for one shape: 8 of 256 experts, from the 4 best of 8 groups (moe_router.py).

score = sigmoid(logits), choice = score + bias; a group is worth the sum of its two largest choices; the 4 best groups
stay, and of their experts the 8 largest choices. Of equal groups and of equal choices the lowest index comes first.

Idea      A lane owns 8 neighbouring experts, four lanes a group: two 128-bit loads of float32, one of bfloat16. Two
          butterfly steps give the two best of a group; each lane compares its group with two others, and ballots make
          the rank of it. The 128 experts that are left are dealt out anew, 4 a lane, so that each lane sorts 4 only.
          Then 8 times: redux.sync finds the largest first element, a ballot its lowest lane, which moves up.
          Lane r keeps the expert of rank r; 8 lanes recompute their scores and normalise.
Layout    Lanes ascend with the experts before and after the dealing, so that the lowest lane is the lowest index.
Requires  sm_80 or newer; float32 or bfloat16 logits of 256 contiguous columns, float32 bias; any number of tokens,
          zero included. Rows that are not 16-byte aligned are read element by element. NaN is the greatest, for experts
          and groups, as torch.sort has it. No backward.
Verify    python scripts/verify_kernel.py examples/moe_router_256.py
Measured  never on a GPU; run in the simulator, where a token takes half of the instructions of moe_router.py
          (results/cpu-2026-11-29-69eedf7-router.json)
"""

import functools

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

EXPERTS, GROUPS, KEPT, K = 256, 8, 4, 8
SIZE = EXPERTS // GROUPS

TEST_CASES = {
    "one token": {"tokens": 1},
    "3 tokens, bf16": {"tokens": 3, "dtype": torch.bfloat16},
    "127 tokens": {"tokens": 127},
    "129 tokens, bf16": {"tokens": 129, "dtype": torch.bfloat16, "scale": 1.0},
    "ties": {"tokens": 301, "ties": True},
    "ties, bf16": {"tokens": 31, "ties": True, "dtype": torch.bfloat16},
    "rows apart": {"tokens": 5, "columns": 264},
    "unaligned rows": {"tokens": 7, "columns": 257},
    "unaligned rows, bf16": {"tokens": 7, "columns": 257, "dtype": torch.bfloat16},
    "NaN and infinities": {"tokens": 37, "odd": True},
    "NaN and infinities, bf16": {"tokens": 6, "odd": True, "dtype": torch.bfloat16},
    "empty": {"tokens": 0},
}
BENCH_CASES = {
    f"{tokens} {name}": {"tokens": tokens, "dtype": dtype}
    for tokens in (1, 64, 4096, 65536)
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16))
}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"spill_bytes": 0, "REDUX": "<=9", "load_bytes_in_flight": ">=64"}}


def get_inputs(tokens=70, scale=2.5, ties=False, odd=False, columns=EXPERTS, dtype=torch.float32, device="cuda"):
    """[logits (T, 256), bias (256,) float32, scale]; columns: of a row in memory; odd: with NaN and infinities."""
    logits = torch.randn(tokens, columns, device=device)
    bias = torch.randn(EXPERTS, device=device) / 8
    if ties:
        logits, bias = logits.round(), torch.zeros_like(bias)  # half of the rows: a few 2 among 1 and 0
        draw = torch.rand(tokens, columns, device=device)[1::2]
        logits[1::2] = (draw < 0.5).float() + (draw < 0.03)
    if odd:  # many -inf, so that whole groups have nothing else; scores that are no normal numbers; a masked expert
        shift = torch.randint(0, 3, (tokens, columns // SIZE + 1), device=device) * -44.0
        logits = logits + shift.repeat_interleave(SIZE, dim=1)[:, :columns]
        where = torch.rand(tokens, columns, device=device)
        logits = logits.masked_fill(where < 0.3, -torch.inf).masked_fill(where > 0.98, torch.inf)
        logits[: tokens // 2] = logits[: tokens // 2].masked_fill(where[: tokens // 2] > 0.995, torch.nan)
        bias[7] = -torch.inf
    return [logits.to(dtype)[:, :EXPERTS], bias, scale]


def reference_fn(logits, bias, scale=2.5):
    """(weights (T, 8) float32, experts (T, 8) int32) in order of falling choice."""
    scores = torch.sigmoid(logits.to(torch.promote_types(logits.dtype, torch.float32)))
    choice = (scores + bias).unflatten(1, (GROUPS, SIZE))
    worth = torch.sort(choice, dim=2, descending=True).values[:, :, :2].sum(2)
    kept = torch.sort(worth, dim=1, descending=True, stable=True).indices[:, :KEPT].sort(dim=1).values  # (T, 4)
    columns = kept[:, :, None] * SIZE + torch.arange(SIZE, device=logits.device)  # (T, 4, 32), ascending
    left = choice.flatten(1).gather(1, columns.flatten(1))
    order = torch.sort(left, dim=1, descending=True, stable=True).indices[:, :K]
    experts = columns.flatten(1).gather(1, order)
    weights = scores.gather(1, experts)
    return weights / weights.sum(1, keepdim=True) * scale, experts.to(torch.int32)


def bytes_moved(logits, bias, scale):
    return logits.numel() * logits.element_size() + bias.numel() * 4 + len(logits) * K * 8


# --- Configuration ---------------------------------------------------------------------------------------------------

WARPS = 4  # of a CTA, each with a token
VEC, LEFT = EXPERTS // 32, KEPT * SIZE // 32  # experts of a lane: 8 at first, 4 of the groups that are kept
LOWEST = -80.0  # a logit above it has a score whose inverse is far from overflow
LEAST = -(2**31)  # a key below every number's
DTYPES = {torch.float32: Float32, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


def score(logit):
    return 1.0 / (1.0 + cute.math.exp(-logit))


def score_in_range(logit):
    """score() bit by bit where the logit is above LOWEST: the division's steps, without its branch to slow cases."""
    divisor = 1.0 + cute.math.exp(-logit)
    inverse = cute.arch.rcp_approx(divisor)  # references/elementwise.md
    return cute.math.fma(inverse, -cute.math.fma(divisor, inverse, Float32(-1.0)), inverse)


@cute.jit
def choose(rX, rBias):
    """score + bias (8) of a lane's logits and biases."""
    logits = [rX[v].to(Float32) for v in range(VEC)]
    choice = cute.make_rmem_tensor(VEC, Float32)
    least = logits[0]
    for v in cutlass.range_constexpr(VEC):
        choice[v] = score_in_range(logits[v]) + rBias[v]
        least = cute.arch.fmin(least, logits[v])
    if least < LOWEST:  # rare: 1 / (1 + exp) is no normal number, or 0
        for v in cutlass.range_constexpr(VEC):
            choice[v] = score(logits[v]) + rBias[v]
    return [choice[v] for v in range(VEC)]


def sortable(x):
    """An integer that sorts like the number: here a sum, which is never -0.0, and whose NaN is 0x7FFFFFFF, greatest."""
    bits = x.bitcast(Int32)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


def two_best(first, second, other_first, other_second):
    """The two largest of two descending pairs."""
    low = cute.arch.fmin(first, other_first, nan=True)
    second = cute.arch.fmax(low, cute.arch.fmax(second, other_second, nan=True), nan=True)
    return cute.arch.fmax(first, other_first, nan=True), second


def two_best_of(values):
    """The two largest of a power of two of values. Not decorated: Python runs the loop while it is traced."""
    pairs = [(cute.arch.fmax(x, y, nan=True), cute.arch.fmin(x, y, nan=True))
             for x, y in zip(values[::2], values[1::2])]
    while len(pairs) > 1:
        pairs = [two_best(*pair, *other) for pair, other in zip(pairs[::2], pairs[1::2])]
    return pairs[0]


@cute.jit
def order(keys, experts, i, j, is_tie_open: cutlass.Constexpr):
    """The greater of two elements to i; of equal ones the lower expert, which is i's unless the tie is open."""
    swap = keys[j] > keys[i]
    if const_expr(is_tie_open):
        swap = swap | ((keys[j] == keys[i]) & (experts[j] < experts[i]))
    high, low = cutlass.max(keys[i], keys[j]), cutlass.min(keys[i], keys[j])
    first = experts[j] if swap else experts[i]
    second = experts[i] if swap else experts[j]
    keys[i], keys[j], experts[i], experts[j] = high, low, first, second


@cute.kernel
def route_kernel(scale: Float32, mX: cute.Tensor, mBias: cute.Tensor, mW: cute.Tensor, mE: cute.Tensor):
    lane = cute.arch.lane_idx()
    token = Int64(cute.arch.block_idx()[0]) * WARPS + cute.arch.warp_idx()
    if token < cute.size(mX, mode=[0]):  # the same for the whole warp
        rX = cute.make_rmem_tensor(VEC, mX.element_type)
        rBias = cute.make_rmem_tensor(VEC, Float32)
        cute.autovec_copy(cute.local_tile(mX[token, None], (VEC,), (lane,)), rX)
        cute.autovec_copy(cute.local_tile(mBias, (VEC,), (lane,)), rBias)
        choice = choose(rX, rBias)

        # What the lane's group is worth: its four lanes agree bit by bit.
        first, second = two_best_of(choice)
        for step in cutlass.range_constexpr(2):
            other_first = cute.arch.shuffle_sync_bfly(first, offset=1 << step)
            other_second = cute.arch.shuffle_sync_bfly(second, offset=1 << step)
            first, second = two_best(first, second, other_first, other_second)
        worth = sortable(first + second)

        # How many groups are better: each of the four lanes looks at two others.
        group, nibble = lane >> 2, lane & 28
        better = Int32(0)
        for i in cutlass.range_constexpr(2):
            other = 2 * (lane & 3) + i
            its = cute.arch.shuffle_sync(worth, other << 2)
            is_better = (its > worth) | ((its == worth) & (other < group))
            better |= ((cute.arch.vote_ballot_sync(is_better) >> nibble) & 15) << (4 * i)
        is_kept = cute.arch.popc(better) < KEPT
        kept = cute.arch.vote_ballot_sync(is_kept)  # four bits for each group
        place = cute.arch.popc(kept & ((1 << nibble) - 1))  # four for each one that is kept before
        groups = cute.arch.warp_redux_sync((group << place) if is_kept else Int32(0), "or")

        # Deal the experts of the kept groups out anew: 8 lanes a group, 4 neighbouring experts a lane.
        group = (groups >> ((lane >> 3) << 2)) & 7
        source, is_high = (group << 2) + ((lane & 7) >> 1), (lane & 1) == 1
        keys, experts = cute.make_rmem_tensor(LEFT, Int32), cute.make_rmem_tensor(LEFT, Int32)
        for v in cutlass.range_constexpr(LEFT):
            low = cute.arch.shuffle_sync(choice[v], source)
            high = cute.arch.shuffle_sync(choice[v + LEFT], source)
            keys[v] = sortable(high if is_high else low)
            experts[v] = group * SIZE + (lane & 7) * LEFT + v
        for i, j, is_tie_open in ((0, 1, False), (2, 3, False), (0, 2, False), (1, 3, False), (1, 2, True)):
            order(keys, experts, i, j, is_tie_open)
        packed = experts[0] | (experts[1] << 8) | (experts[2] << 16) | (experts[3] << 24)

        # The largest, K times. Lane r keeps the expert of rank r.
        expert = Int32(0)
        for rank in cutlass.range_constexpr(K):
            top = cute.arch.warp_redux_sync(keys[0], "max")
            ballot = cute.arch.vote_ballot_sync(keys[0] == top)
            winner = Int32(cute.arch.clz(cute.arch.brev(ballot)))  # the lowest lane
            its = cute.arch.shuffle_sync(packed, winner) & 255
            expert = its if lane == rank else expert
            if const_expr(rank + 1 < K):
                is_winner = lane == winner
                for v in cutlass.range_constexpr(LEFT):
                    following = keys[v + 1] if const_expr(v + 1 < LEFT) else Int32(LEAST)
                    keys[v] = following if is_winner else keys[v]
                packed = (packed >> 8) if is_winner else packed

        weight = Float32(0.0)
        if lane < K:
            weight = score(mX[token, expert].to(Float32))
        total = cute.arch.warp_reduction_sum(weight, threads_in_group=K)
        if lane < K:
            mW[token, lane], mE[token, lane] = weight / total * scale, expert


@cute.jit
def route(scale: Float32, mX: cute.Tensor, mBias: cute.Tensor, mW: cute.Tensor, mE: cute.Tensor, stream):
    grid = (cute.ceil_div(cute.size(mX, mode=[0]), WARPS), 1, 1)
    route_kernel(scale, mX, mBias, mW, mE).launch(grid=grid, block=(32 * WARPS, 1, 1), min_blocks_per_mp=8,
                                              preferred_smem_carveout=0, stream=stream)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, is_aligned):
    size = DTYPES[dtype].width // 8
    vector = 16 // size if is_aligned else 1
    tokens, stride = cute.sym_int64(), cute.sym_int64(divisibility=vector)
    mX = make_fake_tensor(DTYPES[dtype], (tokens, EXPERTS), stride=(stride, 1), assumed_align=vector * size)
    mBias = make_fake_tensor(Float32, (EXPERTS,), stride=(1,), assumed_align=16 if is_aligned else 4)
    mW = make_fake_tensor(Float32, (tokens, K), stride=(K, 1), assumed_align=4)
    mE = make_fake_tensor(Int32, (tokens, K), stride=(K, 1), assumed_align=4)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(route, Float32(1), mX, mBias, mW, mE, stream, options="--enable-tvm-ffi")


def kernel_fn(logits, bias, scale=2.5):
    """(weights (T, 8) float32, experts (T, 8) int32) of logits (T, 256) and bias (256,); ValueError for other input."""
    if logits.ndim != 2 or logits.shape[1] != EXPERTS or logits.dtype not in DTYPES or not logits.is_cuda:
        raise ValueError(f"logits must be (tokens, {EXPERTS}), float32 or bfloat16, on a CUDA device; got "
                         f"{logits.dtype} of shape {tuple(logits.shape)} on {logits.device}")
    if logits.stride(1) != 1:
        raise ValueError(f"the columns of logits must be contiguous; got strides {logits.stride()}")
    if bias.dtype != torch.float32 or bias.shape != (EXPERTS,) or not bias.is_contiguous():
        raise ValueError(f"bias must be {EXPERTS} contiguous float32; got {bias.dtype} of shape {tuple(bias.shape)}")
    if bias.device != logits.device:
        raise ValueError(f"logits and bias must be on one device; got {logits.device} and {bias.device}")
    if torch.is_grad_enabled() and (logits.requires_grad or bias.requires_grad):
        raise ValueError("there is no backward: call it under torch.no_grad()")
    weights = logits.new_empty((len(logits), K), dtype=torch.float32)
    experts = logits.new_empty((len(logits), K), dtype=torch.int32)
    if len(logits):
        places = logits.data_ptr() | bias.data_ptr() | logits.stride(0) * logits.itemsize
        _launcher(logits.dtype, places % 16 == 0)(float(scale), logits, bias, weights, experts)
    return weights, experts


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
