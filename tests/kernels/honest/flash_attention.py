"""Blocked bfloat16 attention with a running maximum; probabilities are rounded to bfloat16 before they are used.

catalogue: tricky because it rounds at other places than the reference, as FlashAttention does
seen at: FlashAttention tests/cute/test_flash_attn.py (twice the error of PyTorch in the same precision)
expect: PASS
needs: cpu
check: precision
"""

import torch


def reference_fn(q, k, v):
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    return torch.softmax(scores, dim=-1) @ v


def get_inputs(heads=2, queries=64, keys=256, dim=64, device="cpu"):
    sizes = (queries, keys, keys)
    return [torch.randn(heads, n, dim, device=device).bfloat16() for n in sizes]


def kernel_fn(q, k, v):
    scale = q.shape[-1] ** -0.5
    out = torch.zeros(q.shape, device=q.device)
    peak = torch.full(q.shape[:-1] + (1,), float("-inf"), device=q.device)
    total = torch.zeros_like(peak)
    for keys, values in zip(k.split(64, dim=-2), v.split(64, dim=-2)):
        scores = q.float() @ keys.float().transpose(-1, -2) * scale
        larger = torch.maximum(peak, scores.amax(dim=-1, keepdim=True))
        weight = torch.exp(scores - larger)
        fade = torch.exp(peak - larger)
        total = total * fade + weight.sum(dim=-1, keepdim=True)
        out = out * fade + weight.bfloat16().float() @ values.float()
        peak = larger
    return (out / total).bfloat16()
