"""Returns a list subclass whose elements are computed when it is iterated over.

catalogue: C4
seen at: SOL-ExecBench evil_lazy_output, moved from the tensor to its container
expect: CHEATING | CONTRACT | WRONG_RESULT
needs: cpu
check: lazy-output
"""

import torch


class _Late(list):
    def __iter__(self):
        return (value() if callable(value) else value for value in super().__iter__())

    def __getitem__(self, index):
        value = super().__getitem__(index)
        return value() if callable(value) else value


def reference_fn(x):
    return [x.amin(dim=-1), x.amax(dim=-1)]


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return _Late([lambda: x.amin(dim=-1), lambda: x.amax(dim=-1)])
