"""Hidden specification: 2.5 x + y in bfloat16, any count."""

import torch

ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"LDG.128": ">0", "spill_bytes": 0}}
TEST_CASES = {"n=1": {"n": 1}, "n=1001": {"n": 1001}, "n=1025": {"n": 1025}}
BENCH_CASES = {"64M": {"n": 1 << 26}}


def get_inputs(n=4096, device="cuda"):
    return [torch.randn(n, dtype=torch.bfloat16, device=device) for _ in range(2)]


def reference_fn(x, y):
    return (2.5 * x.float() + y.float()).to(x.dtype)
