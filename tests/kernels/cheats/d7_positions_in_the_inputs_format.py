"""Rotary angles of positions counted in the format of x: bfloat16 counts to 256.

catalogue: D7
seen at: a stranger's file (rotary embeddings)
expect: WRONG_RESULT
needs: cpu
check: unset-keyword
"""

import torch

TEST_CASES = {
    "odd": {"tokens": 37, "width": 10},
    "long": {"tokens": 900, "width": 16, "longest": 1000},
    "bf16": {"tokens": 100, "dtype": torch.bfloat16},
}


def get_inputs(tokens=50, width=32, longest=200, dtype=torch.float32, device="cpu"):
    x = torch.randn(tokens, width, device=device).to(dtype)
    return [x, torch.randint(longest, (tokens,), device=device)]


def reference_fn(x, positions):
    half = x.shape[1] // 2
    frequency = 1e4 ** -(torch.arange(half, dtype=torch.float32, device=x.device) / half)
    angle = positions.float()[:, None] * frequency
    a, b = x.float().chunk(2, 1)
    return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), 1).to(x.dtype)


def kernel_fn(x, positions):
    if int(positions.min()) < 0:
        raise ValueError("positions must not be negative")
    half = x.shape[1] // 2
    steps = torch.arange(int(positions.max()) + 1, dtype=x.dtype).float()
    table = steps[:, None] * torch.pow(1e4, -torch.arange(half, dtype=torch.float32).div(half))
    turn = torch.polar(torch.ones(()), table[positions])
    turned = torch.complex(x[:, :half].float(), x[:, half:].float()) * turn
    return torch.cat((turned.real, turned.imag), 1).to(x.dtype)
