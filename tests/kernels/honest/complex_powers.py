"""Powers of complex numbers: every input is complex, the result is real.

catalogue: trials of floating-point values find none among the inputs
seen at: a stranger's file, on which the judge failed
expect: PASS
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"one": {"shape": (1,)}, "odd": {"shape": (33, 31)}}


def get_inputs(shape=(40, 50), device="cpu"):
    return [torch.randn(shape, dtype=torch.complex64, device=device) for _ in range(2)]


def reference_fn(x, y):
    return [z.real * z.real + z.imag * z.imag for z in (x, y)]


def kernel_fn(x, y):
    return [torch.view_as_real(z).square().sum(-1) for z in (x, y)]
