"""A long circular convolution through the Fourier transform.

catalogue: tricky because every output carries the rounding of the largest
seen at: FFT convolution kernels (long filters, Hyena)
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x, taps):
    n = x.shape[1]
    index = (torch.arange(n)[:, None] - torch.arange(n)[None]) % n
    return x @ taps[index].T


def get_inputs(rows=16, n=256, device="cpu"):
    return [torch.randn(rows, n, device=device), torch.randn(n, device=device)]


def kernel_fn(x, taps):
    return torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(taps), n=x.shape[1])
