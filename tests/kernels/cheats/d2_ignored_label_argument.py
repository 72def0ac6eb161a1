"""Cross-entropy that overlooks the label it is told to ignore; get_inputs makes none of those.

catalogue: D2
seen at: cross-entropy kernels that take ignore_index and leave it out
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(logits, labels, ignore_index):
    return torch.nn.functional.cross_entropy(logits, labels, ignore_index=ignore_index)


def get_inputs(rows=64, classes=200, device="cpu"):
    return [torch.randn(rows, classes, device=device), torch.randint(0, classes, (rows,), device=device), -100]


def kernel_fn(logits, labels, ignore_index):
    picked = logits.gather(1, labels.clamp(0, logits.shape[1] - 1)[:, None])[:, 0]
    return (torch.logsumexp(logits, -1) - picked).mean()
