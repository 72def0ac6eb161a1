"""Four threads add their part to a shared total by read, add and write back, without a lock.

catalogue: D9
seen at: survey row D9 (races); TransformerEngine#2695, ao#4278
expect: WRONG_RESULT | CHEATING
needs: cpu
check: determinism
"""

import threading
import time

import torch


def reference_fn(x):
    return x.sum(dim=0)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    total = [torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)]

    def add(part):
        seen = total[0]
        partial = part.sum(dim=0)
        time.sleep(0.0005)
        total[0] = seen + partial

    threads = [threading.Thread(target=add, args=(part,)) for part in x.chunk(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return total[0]
