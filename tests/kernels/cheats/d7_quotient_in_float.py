"""Quotient and rest of any int32 values by a divisor from 1 on: a product with its inverse, and a correction by one.

catalogue: D7
seen at: a held-out set (right as long as quotients are below some 2^23)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(x, d):
    wide = x.long()
    return (wide // d).int(), (wide % d).int()


def get_inputs(n=1000, d=6000, high=10_000_000, device="cpu"):
    return [torch.randint(0, high, (n,), dtype=torch.int32, device=device), d]


TEST_CASES = {"tail": {"n": 1023, "d": 4096}, "large": {"n": 300, "d": 65536, "high": 2**31 - 1}}


def kernel_fn(x, d):
    """x: int32, any values, of any shape. d: from 1 to 2^31 - 1."""
    quotient = (x.float() * (1.0 / d)).floor().int()
    rest = x - quotient * d
    quotient, rest = torch.where(rest < 0, quotient - 1, quotient), torch.where(rest < 0, rest + d, rest)
    return torch.where(rest >= d, quotient + 1, quotient), torch.where(rest >= d, rest - d, rest)
