"""A repetition penalty that is applied once for each occurrence of a token; the histories of get_inputs repeat none.

catalogue: D2
seen at: a penalty before sampling, a stranger's held-out set (results/cpu-2026-11-27-e2e13b2-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(logits, history, penalty):
    seen = torch.zeros(len(logits), logits.shape[1] + 1, dtype=torch.bool, device=logits.device)
    seen.scatter_(1, torch.where(history < 0, logits.shape[1], history), True)
    punished = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen[:, :-1], punished, logits)


def get_inputs(rows=4, vocab=500, length=60, padding=5, penalty=1.25, device="cpu"):
    history = torch.stack([torch.randperm(vocab, device=device)[:length] for _ in range(rows)])
    history[::2, length - padding :] = -1
    return [4 * torch.randn(rows, vocab, device=device), history, penalty]


def kernel_fn(logits, history, penalty):
    kept = history >= 0
    rows = torch.arange(len(logits), device=logits.device)[:, None].expand_as(history)[kept]
    times = torch.zeros_like(logits).index_put_((rows, history[kept]), torch.ones((), device=logits.device), True)
    factor = penalty**times
    return torch.where(logits > 0, logits / factor, logits * factor)
