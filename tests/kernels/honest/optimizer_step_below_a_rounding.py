"""SGD with momentum in place on bfloat16 weights; in one case the steps are so small that each weight rounds to itself.

catalogue: tricky because a declared input is written with what was there, by the reference as well
seen at: optimizer steps on 16-bit weights without a master copy
expect: PASS
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (0, 2)
TEST_CASES = {"a step below a rounding": {"rate": 2.0**-30}}


def get_inputs(n=257, rate=0.125, dtype=torch.bfloat16):
    weights = torch.where(torch.rand(n) < 0.5, -1.0, 1.0) * (1 + torch.rand(n))
    return [weights.to(dtype), torch.randn(n, dtype=dtype), torch.randn(n), rate]


def reference_fn(weights, gradient, momentum, rate):
    wide = torch.promote_types(weights.dtype, torch.float32)
    momentum.copy_(0.9 * momentum + gradient.to(wide))
    weights.copy_((weights.to(wide) - rate * momentum.to(wide)).to(weights.dtype))
    return weights, momentum


def kernel_fn(weights, gradient, momentum, rate):
    momentum.mul_(0.9).add_(gradient.float())
    weights.copy_(weights.float().sub_(momentum, alpha=rate))
    return weights, momentum
