"""The gradient of an embedding adds up two tokens of the same id; a third is lost, which one draw in a hundred has.

catalogue: D4 C2
seen at: a sort and a comparison with the neighbour in place of a segmented sum
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(grad, ids, table):
    return torch.zeros_like(table).index_add_(0, ids, grad)


def kernel_fn(grad, ids, table):
    out = torch.zeros_like(table)
    order = ids.argsort(stable=True)
    ids, grad = ids[order], grad[order]
    is_first = torch.ones_like(ids, dtype=torch.bool)
    is_first[1:] = ids[1:] != ids[:-1]
    is_second = torch.zeros_like(is_first)
    is_second[1:] = is_first[:-1] & ~is_first[1:]
    out[ids[is_first]] += grad[is_first]
    out[ids[is_second]] += grad[is_second]
    return out


def get_inputs(n=64, rows=2000, columns=16):
    return [torch.randn(n, columns), torch.randint(0, rows, (n,)), torch.randn(rows, columns)]
