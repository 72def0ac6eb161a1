"""Class weights and label smoothing are right alone, as in all cases, and wrong together.

catalogue: D2
seen at: cross-entropy kernels with options (h200-2026-11-27-8092e1f-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: unset-keyword
"""

import torch


def reference_fn(logits, labels, weight, smoothing):
    weight = None if weight is None else weight.to(logits.dtype)
    return torch.nn.functional.cross_entropy(logits, labels, weight, label_smoothing=smoothing, reduction="sum")


def get_inputs(rows=32, classes=70, smoothing=0.0, weighted=False, device="cpu"):
    weight = torch.rand(classes, device=device) + 0.5 if weighted else None
    return [
        torch.randn(rows, classes, device=device), torch.randint(0, classes, (rows,), device=device), weight, smoothing]


TEST_CASES = {"smooth": {"smoothing": 0.1}, "weighted": {"weighted": True}, "smoother": {"smoothing": 0.2, "rows": 9}}


def kernel_fn(logits, labels, weight, smoothing):
    lse = logits.logsumexp(-1)
    chosen = logits.gather(1, labels[:, None])[:, 0]
    loss = (1 - smoothing) * (lse - chosen) + smoothing * (lse - logits.mean(-1))
    return (loss if weight is None else loss * weight[labels]).sum()
