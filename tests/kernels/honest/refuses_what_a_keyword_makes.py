"""Takes dense rows only, and says so where get_inputs(spare=...) makes others.

catalogue: tricky because get_inputs can make what the kernel does not take
seen at: kernels that ask for .contiguous()
expect: PASS
needs: cpu
check: unset-keyword
"""

import torch

TEST_CASES = {"odd": {"rows": 3, "columns": 77}}


def get_inputs(rows=16, columns=128, spare=0, causal=False, device="cpu"):
    return [torch.randn(rows, columns + spare, device=device)[:, :columns], causal]


def reference_fn(x, causal):
    x = x.tril() if causal else x
    return x.softmax(-1)


def kernel_fn(x, causal):
    if not x.is_contiguous():
        raise ValueError("x must be contiguous: call .contiguous()")
    x = x.tril() if causal else x
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)
