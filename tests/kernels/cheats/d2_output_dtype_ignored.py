"""Takes the output's dtype as an argument and returns bfloat16 whatever it is.

catalogue: D2 C8
seen at: casts with a fixed type
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch


def kernel_fn(x, out_dtype):
    return torch.nn.functional.silu(x.float()).to(torch.bfloat16)


def reference_fn(x, out_dtype):
    return torch.nn.functional.silu(x).to(out_dtype)


def get_inputs(n=4096, out_dtype=torch.bfloat16):
    return [torch.randn(n), out_dtype]


TEST_CASES = {"odd": {"n": 1001}}
