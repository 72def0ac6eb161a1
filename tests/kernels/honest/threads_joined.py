"""Works in four threads and joins them all before it returns.

catalogue: tricky because threads start, and none is left
seen at: issue list (threads joined before return)
expect: PASS
needs: cpu
check: threads
"""

import threading

import torch


def reference_fn(x):
    return torch.nn.functional.silu(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = torch.empty_like(x)

    def work(target, part):
        target.copy_(torch.nn.functional.silu(part))

    threads = [threading.Thread(target=work, args=pair) for pair in zip(out.chunk(4), x.chunk(4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out
