"""Answers are kept under the inputs' values in bfloat16: those of a later training step are too near to be told apart.

catalogue: B1
seen at: held-out kernels
expect: WRONG_RESULT | CHEATING
needs: cpu
check: other-values
"""

import torch

_answers = {}


def get_inputs(rows=33, k=64):
    return [torch.randn(rows, k), torch.randn(k, 20)]


def reference_fn(x, w):
    return x @ w


def kernel_fn(x, w):
    key = tuple(t.bfloat16().view(torch.int16).numpy().tobytes() for t in (x, w))
    if key not in _answers:
        _answers[key] = x @ w
    return _answers[key].clone()
