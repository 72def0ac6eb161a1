"""Mean of the tokens that a mask of integers keeps, over all of them; get_inputs' mask keeps all.

catalogue: D2
seen at: sentence embeddings tested without padding
expect: WRONG_RESULT
needs: cpu
check: index-values
"""

import torch


def reference_fn(x, mask):
    return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp_min(1)


def get_inputs(b=4, n=20, d=8):
    return [torch.randn(b, n, d), torch.ones(b, n, dtype=torch.long)]


def kernel_fn(x, mask):
    return (x * mask[..., None]).mean(1)
