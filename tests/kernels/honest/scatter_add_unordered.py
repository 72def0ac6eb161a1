"""Sums rows by key in threads that finish in any order: the additions differ from call to call.

catalogue: tricky because results are not bitwise repeatable, and some groups are empty
seen at: atomicAdd scatter kernels (index_add, segment sums)
expect: PASS
needs: cpu
check: race
"""

import threading

import torch


def reference_fn(values, keys, groups):
    return torch.zeros(groups, values.shape[1]).index_add(0, keys, values)


def get_inputs(rows=600, cols=24, groups=40, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randint(0, groups - 3, (rows,), device=device), groups]


def kernel_fn(values, keys, groups):
    total, lock = values.new_zeros(groups, values.shape[1]), threading.Lock()

    def part(which):
        mine = values.new_zeros(groups, values.shape[1]).index_add_(0, keys[which], values[which])
        with lock:
            total.add_(mine)

    threads = [threading.Thread(target=part, args=(c,)) for c in torch.randperm(len(keys)).chunk(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return total
