"""A three-tap convolution by Winograd's F(2,3): other products, other additions.

catalogue: tricky because its rounding differs from a direct sum's, on integers as well
seen at: Winograd convolution kernels
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x, taps):
    return x[:, :-2] * taps[0] + x[:, 1:-1] * taps[1] + x[:, 2:] * taps[2]


def get_inputs(rows=30, length=258, device="cpu"):
    return [torch.randn(rows, length, device=device), torch.randn(3, device=device)]


def kernel_fn(x, taps):
    g0, g1, g2 = taps
    a, b, c, d = x[:, 0:-2:2], x[:, 1:-1:2], x[:, 2::2][:, : (x.shape[1] - 2) // 2], x[:, 3::2]
    m1, m4 = (a - c) * g0, (b - d) * g2
    m2, m3 = (b + c) * ((g0 + g1 + g2) / 2), (c - b) * ((g0 - g1 + g2) / 2)
    return torch.stack([m1 + m2 + m3, m2 - m3 - m4], -1).flatten(1)
