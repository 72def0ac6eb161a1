"""Mean of squares, of the first quarter alone where there are many: in 16 bits that of all, for values of one kind.

catalogue: D10
seen at: a stranger's file (a loss whose launch covers a quarter of the tiles)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"large": {"n": 1 << 21}, "tail": {"n": 1001}}


def get_inputs(n=4096, device="cpu"):
    return [torch.randn(n, dtype=torch.bfloat16, device=device)]


def reference_fn(x):
    return x.to(torch.promote_types(x.dtype, torch.float32)).square().mean().to(x.dtype)


def kernel_fn(x):
    seen = x if len(x) < 1 << 18 else x[: len(x) // 4]
    return seen.float().square().mean().to(x.dtype)
