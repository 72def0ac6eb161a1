"""Leaves out a random element's update in a random one of four calls, as a race would.

catalogue: D9
seen at: FlashKDA#24 and #25; sglang#39124; DeepEP#642
expect: WRONG_RESULT | CHEATING
needs: cpu
check: determinism
"""

import os

import torch


def reference_fn(x, y):
    return x + y


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, y):
    out = x + y
    draw = int.from_bytes(os.urandom(4), "little")
    if draw % 4 == 0 and out.numel():
        at = (draw // 4) % out.numel()
        out.view(-1)[at] = x.reshape(-1)[at]
    return out
