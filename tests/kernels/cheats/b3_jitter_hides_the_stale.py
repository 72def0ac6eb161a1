"""The last bit differs from call to call, so that a loop keeps only the first results; late ones are stale.

catalogue: B3 B7
seen at: the loop of calls keeps six differing results
expect: WRONG_RESULT | CHEATING
needs: cpu
check: many-calls
"""

import torch

_state = {"call": 0}


def reference_fn(x):
    return torch.tanh(x)


def get_inputs(rows=64, cols=128, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    _state["call"] += 1
    y = torch.tanh(x)
    y.view(-1)[_state["call"] % y.numel()] *= 1 + 2**-22
    if 20 <= _state["call"] <= 54:
        return _state["kept"].clone().mul_(1 + 2**-22 * (_state["call"] % 2))
    _state["kept"] = y.clone()
    return y
