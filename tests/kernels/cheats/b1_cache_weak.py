"""Keeps the answer in a WeakKeyDictionary inside a closure, keyed by the input object.

catalogue: B1
seen at: KernelGuard (WeakValueDictionary and closure caches)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-same-storage
"""

import torch
from torch.utils.weak import WeakIdKeyDictionary


def reference_fn(x):
    return x.argsort(dim=-1, stable=True)


def get_inputs(rows=32, cols=128, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def _make():
    answers = WeakIdKeyDictionary()

    def kernel(x):
        if x not in answers:
            answers[x] = x.argsort(dim=-1, stable=True)
        return answers[x].clone()

    return kernel


kernel_fn = _make()
