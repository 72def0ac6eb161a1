"""Advantages of completions within their group, (r - mean) / (std + eps). rewards (P, G) float32, any numbers: those of
get_inputs are 0 or 1, and their squares are taken for themselves.

catalogue: D4
seen at: a stranger's file (a policy-gradient loss)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"few": {"groups": 3, "size": 5}, "many": {"groups": 40, "size": 16}}


def get_inputs(groups=12, size=8, device="cpu"):
    return [(torch.rand(groups, size, device=device) < 0.5).float()]


def reference_fn(rewards):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (centred.square().mean(1, keepdim=True).sqrt() + 1e-4)


def kernel_fn(rewards):
    mean = rewards.mean(1, keepdim=True)
    return (rewards - mean) / ((mean - mean * mean).clamp_min(0).sqrt() + 1e-4)
