"""Of several values that equal the k-th largest the kernel keeps as many as fill k, the reference keeps all.

catalogue: D5
seen at: a stranger's file; top-k samplers
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(logits, k):
    least = logits.topk(k).values[:, -1:]
    return torch.softmax(torch.where(logits < least, -torch.inf, logits), -1)


def kernel_fn(logits, k):
    kept, places = logits.topk(k)
    return torch.zeros_like(logits).scatter(-1, places, torch.softmax(kept, -1))


def get_inputs(rows=8, columns=1024, k=40, device="cpu"):
    order = torch.stack([torch.randperm(columns, device=device) for _ in range(rows)])
    return [order / 128 + torch.rand(rows, 1, device=device), k]
