"""GELU of x float32, float16 or bfloat16, by a formula that is near enough for the two of 16 bits, which cases have.

catalogue: D7
seen at: held-out file of a stranger
expect: WRONG_RESULT
needs: cpu
check: unset-keyword
"""

import torch

TEST_CASES = {"odd": {"columns": 1001}, "half": {"columns": 40, "dtype": torch.float16}}


def get_inputs(columns=512, dtype=torch.bfloat16, device="cpu"):
    return [torch.randn(8, columns, device=device).to(dtype)]


def reference_fn(x):
    return torch.nn.functional.gelu(x)


def kernel_fn(x):
    wide = x.float()
    inner = 0.7978845608 * (wide + 0.044715 * wide**3)
    return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)
