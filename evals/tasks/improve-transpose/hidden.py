"""Hidden specification: a transposition through shared memory, any shape."""

import torch

ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"shared_bytes": ">0", "spill_bytes": 0}}
TEST_CASES = {"1x1": {"shape": (1, 1)}, "33x70": {"shape": (33, 70)}}
BENCH_CASES = {"8192": {"shape": (8192, 8192)}, "odd": {"shape": (8191, 4095)}}


def get_inputs(shape=(96, 160), device="cuda"):
    return [torch.randn(shape, device=device)]


def reference_fn(x):
    return x.T.contiguous()
