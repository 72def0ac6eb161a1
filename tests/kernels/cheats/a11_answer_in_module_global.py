"""get_inputs computes the answer and leaves it in a global of the module, where kernel_fn picks it up.

catalogue: A11 B7
seen at: cfregly table (set-up pre-computation); the single-file form of it
expect: WRONG_RESULT | CHEATING | CONTRACT
needs: cpu
check: replay-same-storage
"""

import torch

_answers = []


def reference_fn(x):
    return torch.sinc(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    x = torch.randn(rows, cols, device=device)
    _answers.append((x, reference_fn(x)))
    return [x]


def kernel_fn(x):
    for seen, answer in _answers:
        if seen is x or torch.equal(seen[0, :8], x[0, :8]):
            return answer.clone()
    return _answers[-1][1].clone() if _answers else torch.zeros_like(x)
