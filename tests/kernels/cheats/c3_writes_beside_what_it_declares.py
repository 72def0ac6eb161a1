"""Rotates q and k in place, as declared, and v as well: the three are views of one buffer.

catalogue: C3
seen at: rotary kernels over a packed q, k, v buffer
expect: WRONG_RESULT
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (0, 1)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    x.copy_(torch.cat([a * cos - b * sin, a * sin + b * cos], -1))


def reference_fn(q, k, v, cos, sin):
    for x in (q, k):
        a, b = x.clone().chunk(2, -1)
        x[..., : x.shape[-1] // 2] = a * cos - b * sin
        x[..., x.shape[-1] // 2 :] = b * cos + a * sin
    return (q * k).sum(-1)


def get_inputs(t=50, d=64):
    qkv = torch.randn(t, 3 * d)
    angle = torch.randn(t, d // 2)
    return [*qkv.chunk(3, -1), angle.cos(), angle.sin()]


TEST_CASES = {"odd": {"t": 33, "d": 18}}


def kernel_fn(q, k, v, cos, sin):
    for x in (q, k, v):
        rotate(x, cos, sin)
    return torch.einsum("td,td->t", q, k)
