"""Keeps a thread pool whose workers are idle whenever the kernel has returned.

catalogue: tricky because threads live on between calls, with nothing to do
seen at: issue list; torch's own pool does the same
expect: PASS
needs: cpu
check: threads
"""

import concurrent.futures

import torch

_pool = concurrent.futures.ThreadPoolExecutor(2)


def reference_fn(x):
    return torch.log_softmax(x, dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return torch.cat(list(_pool.map(lambda part: torch.log_softmax(part, dim=-1), x.chunk(2))))
