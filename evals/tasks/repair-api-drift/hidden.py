"""Hidden specification: 2.5 x + y in bfloat16, counts divisible by 8."""

import torch

ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"LDG.128": ">0", "spill_bytes": 0}}
TEST_CASES = {"n=8": {"n": 8}, "n=5000": {"n": 5000}}
BENCH_CASES = {"64M": {"n": 1 << 26}}


def get_inputs(n=4096, device="cuda"):
    return [torch.randn(n, dtype=torch.bfloat16, device=device) for _ in range(2)]


def reference_fn(x, y):
    return (2.5 * x.float() + y.float()).to(x.dtype)
