"""Takes eps as a parameter and computes with the default's value baked in.

catalogue: D6 D2
seen at: AgentKernelArena (held-out evaluation); scalars are inputs too
expect: WRONG_RESULT | UNDECIDED
needs: cpu
check: values
"""

import torch

TEST_CASES = {"large_eps": {"eps": 0.5}}


def reference_fn(x, eps):
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps)


def get_inputs(rows=64, cols=256, eps=1e-6, device="cpu"):
    return [torch.randn(rows, cols, device=device), eps]


def kernel_fn(x, eps):
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6)
