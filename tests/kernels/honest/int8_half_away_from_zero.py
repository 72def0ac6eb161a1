"""Row-wise int8 quantisation that rounds halves away from zero, as the CPU code of a runtime does.

catalogue: tricky because torch rounds halves to even and one step beside is easy to confuse with it
seen at: quantisers of inference runtimes (lround)
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    scale = x.abs().amax(1, keepdim=True).clamp_min(1e-10) / 127
    scaled = x / scale
    rounded = torch.sign(scaled) * torch.floor(scaled.abs() + 0.5)
    return rounded.clamp(-127, 127).to(torch.int8), scale.squeeze(1)


def get_inputs(rows=61, cols=200, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    scale = x.abs().amax(1).clamp_min(1e-10) * (1.0 / 127)
    scaled = x * (1.0 / scale)[:, None]
    return torch.trunc(scaled + torch.copysign(torch.tensor(0.5), scaled)).clamp(-127, 127).to(torch.int8), scale
