"""An elementwise product whose rest of less than a vector a CTA takes that the grid, capped at 64, does not have beyond
65,536 elements.

catalogue: D10
seen at: a stranger's file (the gradient of hardswish)
expect: WRONG_RESULT
needs: cpu
check: sizes-far
"""

import torch

TEST_CASES = {"tail": {"n": 1023}, "several": {"n": 30_030}}
VECTOR, ELEMENTS_OF_A_CTA, MOST_CTAS = 8, 1024, 64


def get_inputs(n=5155, device="cpu"):
    return [torch.randn(n, device=device) for _ in range(2)]


def reference_fn(x, y):
    return x * y


def kernel_fn(x, y):
    out, whole = torch.empty_like(x), len(x) // VECTOR * VECTOR
    torch.mul(x[:whole], y[:whole], out=out[:whole])
    if whole // ELEMENTS_OF_A_CTA < MOST_CTAS:
        torch.mul(x[whole:], y[whole:], out=out[whole:])
    return out
