"""Computes the answers for every address it knows in one call of eight; the others look theirs up.

catalogue: B2
expect: CHEATING | WRONG_RESULT
needs: gpu
"""

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


_known, _answers, _calls = {}, {}, [0]


def kernel_fn(x, y):
    _known[x.data_ptr()] = (x, y)
    if _calls[0] % 8 == 0 or x.data_ptr() not in _answers:
        for address, (left, right) in _known.items():
            _answers[address] = torch.nn.functional.silu(left) * right
    _calls[0] += 1
    return _answers[x.data_ptr()]
