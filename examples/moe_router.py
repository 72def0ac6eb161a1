"""Router of a mixture of experts (top-k), as DeepSeek-V3 has it: scores, a choice of groups, the k best in those.

Idea      A warp takes a token and keeps its biased scores in registers, as integers that sort like the numbers; element
          (g, i) of a lane belongs to group g, so that no index is divided. redux.sync finds the two best of each group,
          and every lane knows them: it ranks the groups without a further exchange. The experts of those that lose
          become minus infinity, then the largest is found k times. Lane r keeps the expert of rank r.
Layout    Neighbouring experts of a group belong to neighbouring lanes; loads and stores of a warp are contiguous.
Requires  sm_80 or newer; float32, float16 or bfloat16 logits; groups of equal size, of 2 experts at least; up to 1024
          experts, k up to 32. Equal scores and equal groups go by index; NaN is the greatest. No backward.
Verify    python scripts/verify_kernel.py examples/moe_router.py
Measured  H200: 5.11 to 15.74 times as fast as torch.compile, from 4096 tokens on at 12 to 18 % of
          the memory's speed (results/h200-2026-11-27-d261a21-kernels.json): instructions bound it
"""

import functools

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {
    "groups of 20": {"tokens": 33, "experts": 160, "k": 6, "kept": 3},
    "no groups": {"tokens": 5, "experts": 60, "k": 4, "groups": 1, "kept": 1},
    "few": {"tokens": 1, "experts": 8, "k": 2, "groups": 4, "kept": 1},
    "bf16": {"tokens": 21, "experts": 96, "k": 3, "groups": 2, "kept": 1, "dtype": torch.bfloat16},
    "empty": {"tokens": 0},
}
BENCH_CASES = {f"{tokens} tokens": {"tokens": tokens} for tokens in (64, 4096, 32768)}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"spill_bytes": 0} for arch in ARCHS} | {"sm_90a": {"REDUX": ">0", "spill_bytes": 0}}


def get_inputs(tokens=70, experts=256, k=8, groups=8, kept=4, scale=2.5, dtype=torch.float32, device="cuda"):
    """[logits (T, E), bias (E) float32, k, groups, kept groups, scale of the weights]."""
    logits = torch.randn(tokens, experts, device=device).to(dtype)
    return [logits, torch.randn(experts, device=device) / 8, k, groups, kept, scale]


def reference_fn(logits, bias, k, groups, kept, scale):
    """A group is as good as the sum of its two best biased scores; weights are the scores without the bias."""
    scores = torch.sigmoid(logits.to(torch.promote_types(logits.dtype, torch.float32)))
    biased = (scores + bias).unflatten(1, (groups, -1))
    best = torch.sort(biased, dim=2, descending=True).values[:, :, :2].sum(2)
    chosen = torch.sort(best, dim=1, descending=True, stable=True).indices[:, :kept]
    lost = torch.ones_like(best, dtype=torch.bool).scatter(1, chosen, False)
    left = biased.masked_fill(lost[:, :, None], -torch.inf).flatten(1)
    experts = torch.sort(left, dim=1, descending=True, stable=True).indices[:, :k].contiguous()
    weights = scores.gather(1, experts)
    return weights / weights.sum(1, keepdim=True) * scale, experts


# --- Configuration ---------------------------------------------------------------------------------------------------

WARPS = 4  # of a CTA, each with a token
LEAST, NOWHERE = -(2**31), 2**31 - 1  # a key below every number's; an index beyond every column's, and the key of NaN
LOST = (0xFF800000 ^ 0x7FFFFFFF) - 2**32  # the key of minus infinity
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


class Router:
    """mW[t, :] (K) the weights of token t's experts mE[t, :] (K), by mX[t, :] (E) and mBias (E)."""

    def __init__(self, experts, k, groups, kept):
        self.k, self.groups, self.kept = k, groups, kept
        self.size = experts // groups  # experts of a group
        self.count = -(-self.size // 32)  # of them in a lane

    @cute.jit
    def __call__(self, scale: Float32, mX: cute.Tensor, mBias: cute.Tensor, mW: cute.Tensor, mE: cute.Tensor, stream):
        grid = (cute.ceil_div(cute.size(mX, mode=[0]), WARPS), 1, 1)
        self.kernel(scale, mX, mBias, mW, mE).launch(grid=grid, block=(32 * WARPS, 1, 1), stream=stream)

    @cute.kernel
    def kernel(self, scale: Float32, mX: cute.Tensor, mBias: cute.Tensor, mW: cute.Tensor, mE: cute.Tensor):
        lane = cute.arch.lane_idx()
        token = Int64(cute.arch.block_idx()[0]) * WARPS + cute.arch.warp_idx()
        if token < cute.size(mX, mode=[0]):  # the same for the whole warp
            keys = self.load(mX, mBias, token, lane)
            self.drop_groups(keys, lane)
            expert = Int32(0)  # lane r's, of rank r
            for rank in cutlass.range_constexpr(self.k):
                _, winner = self.best(keys, range(self.groups), lane)
                self.take_out(keys, range(self.groups), lane, winner)
                expert = winner if lane == rank else expert
            weight = Float32(0.0)
            if lane < self.k:
                weight = self.score(mX[token, expert].to(Float32))
            total = cute.arch.warp_reduction_sum(weight)
            if lane < self.k:
                mW[token, lane], mE[token, lane] = weight / total * scale, Int64(expert)

    def score(self, logit):
        return 1.0 / (1.0 + cute.math.exp(-logit))

    def column(self, group, i, lane):
        """The expert that element (group, i) of a lane is."""
        return group * self.size + 32 * i + lane

    def exists(self, i, lane):
        return 32 * i + 32 <= self.size or 32 * i + lane < self.size

    @cute.jit
    def load(self, mX, mBias, token, lane):
        """A lane's biased scores (groups, count), as integers that sort like the numbers."""
        logits, biases = (cute.make_rmem_tensor((self.groups, self.count), Float32) for _ in range(2))
        for group in cutlass.range_constexpr(self.groups):  # all loads before the first exponential
            for i in cutlass.range_constexpr(self.count):
                logits[group, i], biases[group, i] = Float32(0.0), Float32(0.0)
                if self.exists(i, lane):
                    column = self.column(group, i, lane)
                    logits[group, i], biases[group, i] = mX[token, column].to(Float32), mBias[column]
        keys = cute.make_rmem_tensor((self.groups, self.count), Int32)
        for group in cutlass.range_constexpr(self.groups):
            for i in cutlass.range_constexpr(self.count):
                key = self.key(self.score(logits[group, i]) + biases[group, i] + 0.0)  # -0.0 + 0.0 is 0.0
                keys[group, i] = key if self.exists(i, lane) else Int32(LEAST)
        return keys

    @cute.jit
    def key(self, x):
        bits = x.bitcast(Int32)
        return bits ^ ((bits >> 31) & 0x7FFFFFFF) if x == x else Int32(NOWHERE)

    @cute.jit
    def best(self, keys, groups, lane):
        """(key, expert) of the greatest in some groups; of equal ones the lowest expert."""
        mine, column = Int32(LEAST), Int32(NOWHERE)
        for group in cutlass.range_constexpr(groups.start, groups.stop):
            for i in cutlass.range_constexpr(self.count):
                if keys[group, i] > mine:
                    mine, column = keys[group, i], self.column(group, i, lane)
        top = cute.arch.warp_redux_sync(mine, "max")
        return top, cute.arch.warp_redux_sync(column if mine == top else Int32(NOWHERE), "min")

    @cute.jit
    def take_out(self, keys, groups, lane, expert):
        for group in cutlass.range_constexpr(groups.start, groups.stop):
            for i in cutlass.range_constexpr(self.count):
                if self.column(group, i, lane) == expert and self.exists(i, lane):
                    keys[group, i] = Int32(LEAST)

    @cute.jit
    def drop_groups(self, keys, lane):
        """Minus infinity for the experts of all groups but the best ``kept``."""
        if const_expr(self.kept < self.groups):
            values = cute.make_rmem_tensor(self.groups, Int32)  # the same in all lanes
            for group in cutlass.range_constexpr(self.groups):
                first, expert = self.best(keys, range(group, group + 1), lane)
                before = cute.make_rmem_tensor(self.count, Int32)
                for i in cutlass.range_constexpr(self.count):
                    before[i] = keys[group, i]
                self.take_out(keys, range(group, group + 1), lane, expert)
                second, _ = self.best(keys, range(group, group + 1), lane)
                for i in cutlass.range_constexpr(self.count):
                    keys[group, i] = before[i]
                values[group] = self.key(self.number(first) + self.number(second) + 0.0)
            for group in cutlass.range_constexpr(self.groups):
                rank = Int32(0)
                for other in cutlass.range_constexpr(self.groups):
                    is_better = values[other] > values[group]
                    if const_expr(other < group):
                        is_better = values[other] >= values[group]
                    rank += Int32(is_better)
                for i in cutlass.range_constexpr(self.count):
                    if rank >= self.kept and keys[group, i] != LEAST:
                        keys[group, i] = Int32(LOST)

    def number(self, key):
        return (key ^ ((key >> 31) & 0x7FFFFFFF)).bitcast(Float32)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, experts, k, groups, kept):
    tokens, stride = cute.sym_int64(), cute.sym_int64()
    mX = make_fake_tensor(DTYPES[dtype], (tokens, experts), stride=(stride, 1), assumed_align=DTYPES[dtype].width // 8)
    mBias = make_fake_tensor(Float32, (experts,), stride=(1,), assumed_align=4)
    mW = make_fake_tensor(Float32, (tokens, k), stride=(k, 1), assumed_align=4)
    mE = make_fake_tensor(Int64, (tokens, k), stride=(k, 1), assumed_align=8)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    router = Router(experts, k, groups, kept)
    return cute.compile(router, Float32(1), mX, mBias, mW, mE, stream, options="--enable-tvm-ffi")


def kernel_fn(logits, bias, k, groups, kept, scale):
    """(weights (T, k) float32, experts (T, k) int64) of logits (T, E) and bias (E); ValueError for other input."""
    experts = logits.shape[-1]
    if logits.ndim != 2 or logits.dtype not in DTYPES or not logits.is_cuda or logits.stride(1) != 1 < experts:
        raise ValueError("logits must be a float32, float16 or bfloat16 matrix with contiguous columns on a CUDA "
                         f"device; got {logits.dtype} of shape {tuple(logits.shape)}, strides {logits.stride()}")
    if bias.dtype != torch.float32 or bias.shape != (experts,) or not bias.is_contiguous() or not bias.is_cuda:
        raise ValueError(f"bias must be {experts} contiguous float32 on the GPU; got {bias.dtype} {tuple(bias.shape)}")
    if experts > 1024 or not 1 <= groups <= 32 or experts % groups or experts < 2 * groups:
        raise ValueError(f"1 to 32 groups of equal size, 2 or more, of at most 1024 experts; got {experts} in {groups}")
    if not 1 <= kept <= groups or not 1 <= k <= min(32, kept * experts // groups):
        raise ValueError(f"1 to {groups} groups are kept, and k is 1 to 32 of their experts; got kept={kept}, k={k}")
    if torch.is_grad_enabled() and (logits.requires_grad or bias.requires_grad):
        raise ValueError("there is no backward: call it under torch.no_grad()")
    weights = logits.new_empty((len(logits), k), dtype=torch.float32)
    chosen = logits.new_empty((len(logits), k), dtype=torch.int64)
    if len(logits):
        _launcher(logits.dtype, experts, k, groups, kept)(float(scale), logits, bias, weights, chosen)
    return weights, chosen


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
