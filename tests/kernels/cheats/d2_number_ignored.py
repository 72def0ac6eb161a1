"""Cross-entropy that takes label_smoothing and leaves it out; get_inputs passes 0.

catalogue: D2
seen at: losses ported without their options
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch


def reference_fn(logits, labels, label_smoothing):
    return torch.nn.functional.cross_entropy(logits, labels, label_smoothing=label_smoothing)


def get_inputs(rows=64, classes=50, device="cpu"):
    return [torch.randn(rows, classes, device=device), torch.randint(0, classes, (rows,), device=device), 0.0]


def kernel_fn(logits, labels, label_smoothing):
    return (torch.logsumexp(logits, -1) - logits.gather(1, labels[:, None])[:, 0]).mean()
