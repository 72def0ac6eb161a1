"""A momentum step whose table of tensors is kept by the addresses of parameters and momenta: gradients that lie
elsewhere in the next call are not in it.

catalogue: B1
seen at: a held-out set (foreach optimizers)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay
"""

import torch

MUTATES = [0, 2]
TEST_CASES = {"odd": {"n": 33}, "one": {"n": 1}}
_tables = {}


def reference_fn(params, grads, momenta, lr, mu):
    for p, g, m in zip(params, grads, momenta, strict=True):
        m.mul_(mu).add_(g)
        p.sub_(lr * m)
    return params


def get_inputs(n=100, lr=0.1, mu=0.9, device="cpu"):
    make = lambda: [torch.randn(n, device=device), torch.randn(3 * n, device=device)]
    return [make(), make(), make(), lr, mu]


def kernel_fn(params, grads, momenta, lr, mu):
    key = tuple((p.data_ptr(), m.data_ptr(), p.numel()) for p, m in zip(params, momenta, strict=True))
    if len(_tables) > 64:
        _tables.clear()
    for p, g, m in _tables.setdefault(key, list(zip(params, grads, momenta, strict=True))):
        m.copy_(mu * m + g)
        p.copy_(p - lr * m)
    return params
