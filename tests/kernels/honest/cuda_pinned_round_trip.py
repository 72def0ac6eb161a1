"""Does its work on the host, with pinned copies that it waits for, and returns a tensor on the GPU.

catalogue: tricky because hardly any kernel runs and the host waits
seen at: the honest twin of cheats/x_copy_not_awaited.py
expect: PASS
needs: cuda
check: slow-producer
"""

import torch


def reference_fn(x):
    return x.cumsum(dim=0)


def get_inputs(n=1 << 16, device="cuda"):
    return [torch.randint(0, 3, (n,), device=device)]


def kernel_fn(x):
    host = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
    host.copy_(x, non_blocking=True)
    torch.cuda.current_stream(x.device).synchronize()
    return host.cumsum(dim=0).to(x.device)
