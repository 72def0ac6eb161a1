"""Cross-entropy that knows no ignored label; get_inputs makes none.

catalogue: D2
seen at: cross-entropy kernels without ignore_index
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(logits, labels):
    return torch.nn.functional.cross_entropy(logits, labels, ignore_index=-100, reduction="none")


def get_inputs(rows=64, classes=200, device="cpu"):
    return [torch.randn(rows, classes, device=device), torch.randint(0, classes, (rows,), device=device)]


def kernel_fn(logits, labels):
    return torch.logsumexp(logits, -1) - logits.gather(1, labels[:, None])[:, 0]
