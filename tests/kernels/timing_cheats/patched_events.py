"""Makes every CUDA event claim a tenth of the time.

catalogue: A1
expect: CHEATING
needs: gpu
"""

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


_honest = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda self, other: _honest(self, other) / 10


def kernel_fn(x, y):
    return torch.nn.functional.silu(x) * y
