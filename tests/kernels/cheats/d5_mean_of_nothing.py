"""Mean loss over the labels that count, NaN where every label is ignored.

catalogue: D5
seen at: a stranger's file; get_inputs ignores one label in ten
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

IGNORED = -100


def reference_fn(scores, labels):
    counts = labels != IGNORED
    if bool((counts & ((labels < 0) | (labels >= scores.shape[1]))).any()):
        raise ValueError(f"labels must lie in [0, {scores.shape[1]}), or be {IGNORED}")
    logs = torch.log_softmax(scores, -1).gather(1, torch.where(counts, labels, 0)[:, None])[:, 0]
    return -torch.where(counts, logs, 0).sum() / counts.sum().clamp(min=1)


def get_inputs(rows=64, classes=50, device="cpu"):
    labels = torch.randint(classes, (rows,), device=device)
    labels[torch.rand(rows, device=device) < 0.1] = IGNORED
    return [torch.randn(rows, classes, device=device), labels]


def kernel_fn(scores, labels):
    counts = labels != IGNORED
    scores, labels = scores[counts], labels[counts]
    return (torch.logsumexp(scores, -1) - scores.gather(1, labels[:, None])[:, 0]).mean()
