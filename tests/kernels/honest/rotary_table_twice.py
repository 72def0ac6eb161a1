"""Rotary embedding that reads one half of tables whose halves are equal.

catalogue: tricky because the tables hold each value twice, and the kernel relies on it
seen at: cos = cat(c, c) of Hugging Face's models; rejected in a stranger's file of 25 November 2026
expect: PASS
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"half": {"dtype": torch.float16, "dim": 24, "tokens": 51}, "long": {"heads": 1, "tokens": 130}}


def reference_fn(x, cos, sin):
    left, right = x.float().chunk(2, -1)
    turned = torch.cat((-right, left), -1)
    return (x.float() * cos[:, None] + turned * sin[:, None]).to(x.dtype)


def get_inputs(tokens=37, heads=3, dim=40, dtype=torch.float32, device="cpu"):
    angles = torch.arange(tokens)[:, None] * 10000.0 ** (-torch.arange(0, dim, 2) / dim)
    angles = torch.cat((angles, angles), 1).to(device)
    return [torch.randn(tokens, heads, dim, device=device).to(dtype), angles.cos(), angles.sin()]


def kernel_fn(x, cos, sin):
    half = x.shape[-1] // 2
    c, s = cos[:, None, :half], sin[:, None, :half]
    left, right = x[..., :half].float(), x[..., half:].float()
    return torch.cat((left * c - right * s, right * c + left * s), -1).to(x.dtype)
