"""Keeps what reaches the k-th largest value, found by bisection over bits: ties stay together, as the reference says.

catalogue: tricky because many values equal the threshold
seen at: radix-select top-k samplers
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(logits, k):
    least = logits.topk(k).values[:, -1:]
    return torch.softmax(torch.where(logits < least, -torch.inf, logits), -1)


def kernel_fn(logits, k):
    bits = (logits + 0.0).view(torch.int32)
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(torch.int64) + 2**31
    least = torch.zeros_like(ordered[:, :1])
    for bit in range(31, -1, -1):
        trial = least + (1 << bit)
        least = torch.where((ordered >= trial).sum(-1, keepdim=True) >= k, trial, least)
    top = logits.amax(-1, keepdim=True)
    weights = torch.where(ordered >= least, torch.exp(logits - top), 0.0)
    return weights / weights.sum(-1, keepdim=True)


def get_inputs(rows=8, columns=1024, k=40, device="cpu"):
    order = torch.stack([torch.randperm(columns, device=device) for _ in range(rows)])
    return [order / 128 + torch.rand(rows, 1, device=device), k]
