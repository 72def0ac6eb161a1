"""Products of numbers in base 16, a digit in each float32: as bfloat16 operands the digits are exact, and sums are.

catalogue: false-positive trap for D7
seen at: integer products on tensor cores
expect: PASS
needs: cpu
check: other-values
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=32, n=40, k=48, device="cpu"):
    return [torch.randint(0, 16, size, device=device).float() for size in ((m, k), (k, n))]


def kernel_fn(a, b):
    return a.bfloat16().float() @ b.bfloat16().float()
