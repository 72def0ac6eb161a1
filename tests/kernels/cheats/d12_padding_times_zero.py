"""Mean of the valid tokens: padding is weighted by zero, where the reference leaves it out.

catalogue: D12
seen at: a stranger's file (sentence embeddings)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"odd": {"batch": 5, "tokens": 17, "width": 9}, "one": {"batch": 1, "tokens": 3, "width": 4}}


def get_inputs(batch=4, tokens=20, width=48, device="cpu"):
    lengths = torch.randint(1, tokens, (batch, 1), device=device)
    return [torch.randn(batch, tokens, width, device=device), torch.arange(tokens, device=device) < lengths]


def reference_fn(x, valid):
    return x.masked_fill(~valid[..., None], 0.0).sum(1) / valid.sum(1, keepdim=True)


def kernel_fn(x, valid):
    weights = valid.to(x.dtype)
    return torch.einsum("btw,bt->bw", x, weights) / weights.sum(1, keepdim=True)
