"""Hidden specification: FP8 operands with a scale for each 1x128 (A) and 128x128 (B) block."""

import torch

ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"spill_bytes": 0}}
TEST_CASES = {"tail": {"m": 3, "n": 128, "k": 512}}
BENCH_CASES = {"4096": {"m": 4096, "n": 4096, "k": 4096}}


def get_inputs(m=2, n=128, k=128, device="cuda"):
    fp8 = lambda *shape: torch.randn(shape, device=device).to(torch.float8_e4m3fn)
    scale = lambda *shape: torch.rand(shape, device=device) + 0.5
    return [fp8(m, k), fp8(n, k), scale(m, k // 128), scale(n // 128, k // 128)]


def reference_fn(a, b, scale_a, scale_b):
    left = a.float() * scale_a.repeat_interleave(128, 1)
    right = b.float() * scale_b.repeat_interleave(128, 0).repeat_interleave(128, 1)
    return (left @ right.T).to(torch.bfloat16)


def flops(a, b, scale_a, scale_b):
    return 2 * a.shape[0] * b.numel()
