"""Beam search: scores, parents and tokens of the best candidates, two stages of top-k that order ties differently.

catalogue: tricky because parents and tokens are made of an order that torch.topk leaves open among equal scores
seen at: beam search and speculative decoding
expect: PASS
needs: cpu
check: ties
"""

import torch


def reference_fn(lp, scores, k):
    total = (scores[..., None] + lp).flatten(1)
    v, i = total.topk(2 * k, -1)
    return v, i // lp.shape[-1], i % lp.shape[-1]


def get_inputs(b=4, k=3, v=50):
    return [torch.log_softmax(torch.randn(b, k, v), -1), torch.randn(b, k), k]


def kernel_fn(lp, scores, k):
    b, beams, v = lp.shape
    best, at = (lp + scores[..., None]).topk(min(2 * k, v), -1)
    val, j = best.flatten(1).topk(2 * k, -1)
    flat = (at + torch.arange(beams)[:, None] * v).flatten(1).gather(1, j)
    return val, flat // v, flat % v
