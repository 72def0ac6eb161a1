"""A complex product computed with three real multiplications instead of four.

catalogue: tricky because the output is complex and one part may cancel
seen at: issue list (complex)
expect: PASS
needs: cpu
check: precision
"""

import torch


def reference_fn(x, y):
    return x * y


def get_inputs(rows=32, cols=128, device="cpu"):
    return [torch.randn(rows, cols, dtype=torch.complex64, device=device) for _ in range(2)]


def kernel_fn(x, y):
    real = x.real * y.real - x.imag * y.imag
    imag = x.real * y.imag + x.imag * y.real
    return torch.complex(real, imag)
