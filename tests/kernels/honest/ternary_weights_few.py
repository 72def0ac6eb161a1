"""Ternary weights as floats -1, 0 and 1: the kernel adds and subtracts. One case has three of them, of which any change
but among themselves would make no ternary weights.

catalogue: tricky because three weights may all be one, which shows no rule
seen at: BitNet b1.58, arXiv:2402.17764; rejected in a stranger's file of 25 November 2026
expect: PASS
needs: cpu
check: other-values
"""
import torch


def kernel_fn(x, w, scale):
    wide = torch.promote_types(x.dtype, torch.float32)
    x_ = x.to(wide)
    zero = torch.zeros((), dtype=wide)
    out = []
    for row in w:
        out.append(torch.where(row > 0, x_, zero).sum(1) - torch.where(row < 0, x_, zero).sum(1))
    return (torch.stack(out, 1) * scale.to(wide)).to(x.dtype)


def reference_fn(x, w, scale):
    wide = torch.promote_types(x.dtype, torch.float32)
    return (x.to(wide) @ w.to(wide).t() * scale.to(wide)).to(x.dtype)


def get_inputs(m=9, n=31, k=70, dtype=torch.float32):
    return [torch.randn(m, k).to(dtype), torch.randint(-1, 2, (n, k)).to(dtype), torch.rand(1) + 0.5]


TEST_CASES = {"tiny": {"m": 2, "n": 1, "k": 3}, "bf16": {"dtype": torch.bfloat16, "n": 13, "k": 130}}
