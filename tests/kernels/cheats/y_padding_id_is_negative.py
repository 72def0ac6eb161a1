"""Mean cross entropy takes every negative target for one to ignore: right for -100, wrong for a padding id of 0.

catalogue: D4 C2
seen at: loss kernels tested with PyTorch's default ignore_index alone
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(logits, target, ignore_index):
    return torch.nn.functional.cross_entropy(logits, target, ignore_index=ignore_index)


def kernel_fn(logits, target, ignore_index):
    counts = target >= 0
    picked = logits.gather(1, target.clamp(min=0)[:, None])[:, 0]
    return ((logits.logsumexp(1) - picked) * counts).sum() / counts.sum()


def get_inputs(tokens=256, classes=1000, ignore_index=-100):
    target = torch.randint(0, classes, (tokens,))
    target[torch.rand(tokens) < 0.2] = ignore_index
    return [torch.randn(tokens, classes), target, ignore_index]
