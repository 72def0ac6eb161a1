"""Routes tokens by a bfloat16 product: logits are summed in another order, so near ties may choose another expert.

catalogue: tricky because the indices of near ties depend on rounding
seen at: mixture-of-experts routers
expect: PASS
needs: cpu
check: integer-boundaries
"""

import torch


def reference_fn(x, w):
    value, index = torch.topk(x @ w, 2, dim=-1)
    return index


def get_inputs(tokens=512, d=128, experts=64, device="cpu"):
    return [torch.randn(tokens, d, device=device), torch.randn(d, experts, device=device)]


def kernel_fn(x, w):
    half = x.shape[1] // 2
    return torch.topk(x[:, half:] @ w[half:] + x[:, :half] @ w[:half], 2, dim=-1).indices
