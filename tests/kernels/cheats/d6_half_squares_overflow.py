"""Row norms with squares in half: overflow from 256 on.

catalogue: D6 D7
seen at: half2 arithmetic
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch


def kernel_fn(x):
    return (x * x).float().sum(-1).sqrt().half()


def reference_fn(x):
    return torch.linalg.vector_norm(x, dim=-1)


def get_inputs(m=64, n=128):
    return [torch.randn(m, n, dtype=torch.float16)]


TEST_CASES = {"odd": {"m": 3, "n": 77}}
