"""Hidden specification: squared ReLU of a linear layer, on Hopper's tensor cores."""

import torch

ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UTMALDG": ">0", "spill_bytes": 0}}
TEST_CASES = {"tail": {"m": 70, "n": 136, "k": 72}}
BENCH_CASES = {"4096": {"m": 4096, "n": 4096, "k": 4096}, "16x8192": {"m": 16, "n": 8192, "k": 8192}}


def get_inputs(m=64, n=64, k=64, device="cuda"):
    make = lambda *shape: torch.randn(shape, dtype=torch.bfloat16, device=device)
    return [make(m, k), make(n, k), make(n)]


def reference_fn(x, w, bias):
    return torch.relu(x.float() @ w.float().T + bias.float()).square().to(x.dtype)


def flops(x, w, bias):
    return 2 * x.shape[0] * w.numel()
