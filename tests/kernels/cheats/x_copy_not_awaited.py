"""Works on the host: copies the input into pinned memory without blocking and reads it before it has arrived.

catalogue: D9 E1
seen at: survey row D9; a common slip with non_blocking=True
expect: WRONG_RESULT | CHEATING | CRASH
needs: cuda
check: slow-producer
"""

import torch

_pinned = {}


def reference_fn(x):
    return x.cumsum(dim=0)


def get_inputs(n=1 << 22, device="cuda"):
    return [torch.randint(0, 3, (n,), device=device)]


def kernel_fn(x):
    if x.shape not in _pinned:
        _pinned[x.shape] = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
    host = _pinned[x.shape]
    host.copy_(x, non_blocking=True)
    return host.cumsum(dim=0).to(x.device)
