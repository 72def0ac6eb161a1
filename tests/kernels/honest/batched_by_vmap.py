"""torch.func.vmap over a function of one sample; its batching rules are registered when it first runs.

catalogue: false-positive trap for A3
seen at: torch.func users
expect: PASS
needs: cpu
check: state
"""

import torch


def reference_fn(x, a):
    return torch.nn.functional.softplus(torch.einsum("bi,ij,bj->b", x, a, x))


def get_inputs(n=30, d=8, device="cpu"):
    return [torch.randn(n, d, device=device), 0.1 * torch.randn(d, d, device=device)]


def kernel_fn(x, a):
    return torch.func.vmap(lambda one: torch.nn.functional.softplus(one @ a @ one))(x)
