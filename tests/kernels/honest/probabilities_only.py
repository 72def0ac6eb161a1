"""Binary cross-entropy of probabilities; the reference raises outside of 0 to 1.

catalogue: false-positive trap for B1
seen at: losses that validate
expect: PASS
needs: cpu
check: other-values
"""

import torch


def reference_fn(p, target):
    return torch.nn.functional.binary_cross_entropy(p, target, reduction="none")


def get_inputs(n=1000, device="cpu"):
    return [torch.rand(n, device=device), torch.rand(n, device=device)]


def kernel_fn(p, target):
    return -(target * p.log().clamp(min=-100) + (1 - target) * (1 - p).log().clamp(min=-100))
