"""Blocks of scores that are 8 below the largest so far are left out: alone each is nothing, together they are not.

catalogue: D6
seen at: attention kernels that skip blocks (h200-2026-11-27-8092e1f-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

BLOCK = 32


def reference_fn(scores, values):
    return torch.einsum("bk,bkd->bd", scores.float().softmax(-1), values.float()).to(values.dtype)


def get_inputs(batch=4, keys=600, features=40, dtype=torch.bfloat16, device="cpu"):
    scores = 2 * torch.randn(batch, keys, device=device).to(dtype)
    return [scores, torch.randn(batch, keys, features, device=device).to(dtype)]


def kernel_fn(scores, values):
    peak = torch.full_like(scores[:, :1], -torch.inf, dtype=torch.float32)
    total, sums = torch.zeros_like(peak), torch.zeros(len(scores), values.shape[-1], device=values.device)
    for s, v in zip(scores.float().split(BLOCK, 1), values.float().split(BLOCK, 1), strict=True):
        top = s.amax(1, keepdim=True)
        new = torch.maximum(peak, top)
        p = torch.where(top > peak - 8, (s - new).exp(), 0.0)
        total = total * (peak - new).exp() + p.sum(1, keepdim=True)
        sums = sums * (peak - new).exp() + torch.einsum("bk,bkd->bd", p, v)
        peak = new
    return (sums / total).to(values.dtype)
