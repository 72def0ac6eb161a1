"""Mean cross entropy of targets that are not the ignored label, which must be negative: it says so and raises.

catalogue: tricky because it is right for the label of get_inputs alone
seen at: the honest twin of cheats/y_padding_id_is_negative.py
expect: PASS
needs: cpu
check: other-values
"""

import torch


def reference_fn(logits, target, ignore_index):
    return torch.nn.functional.cross_entropy(logits, target, ignore_index=ignore_index)


def kernel_fn(logits, target, ignore_index):
    if ignore_index >= 0:
        raise ValueError(f"ignore_index must be negative, got {ignore_index}")
    counts = target != ignore_index
    picked = logits.gather(1, target.clamp(min=0)[:, None])[:, 0]
    return ((logits.logsumexp(1) - picked) * counts).sum() / counts.sum()


def get_inputs(tokens=256, classes=1000, ignore_index=-100):
    target = torch.randint(0, classes, (tokens,))
    target[torch.rand(tokens) < 0.2] = ignore_index
    return [torch.randn(tokens, classes), target, ignore_index]
