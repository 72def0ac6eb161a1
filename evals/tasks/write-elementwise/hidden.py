"""Hidden specification: x * sigmoid(1.702 x) + y, any size."""

import torch

ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"LDG.128": ">0", "STG.128": ">0", "spill_bytes": 0}}
TEST_CASES = {"n=1": {"shape": (1,)}, "n=1003": {"shape": (1003,)}, "3d": {"shape": (3, 5, 67)}}
BENCH_CASES = {"16M": {"shape": (1 << 24,)}, "256M": {"shape": (1 << 28,)}}


def get_inputs(shape=(4096,), device="cuda"):
    return [torch.randn(shape, dtype=torch.bfloat16, device=device) for _ in range(2)]


def reference_fn(x, y):
    return (x.float() * torch.sigmoid(1.702 * x.float()) + y.float()).to(x.dtype)
