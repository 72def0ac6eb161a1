"""Rows go to the expert of their largest score, which has room for three times its share: with random scores nobody is
turned away.

catalogue: D2 D5
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"tokens": 77, "experts": 6}, "few": {"tokens": 9, "experts": 4}}


def get_inputs(tokens=96, experts=8, width=16):
    return [torch.randn(tokens, width), torch.randn(tokens, experts), torch.randn(experts, width, width) / width**0.5]


def reference_fn(x, scores, weights):
    return torch.einsum("td,tdf->tf", x, weights[scores.argmax(1)])


def kernel_fn(x, scores, weights):
    experts, chosen = len(weights), scores.argmax(1)
    room = max(8, 3 * -(-len(x) // experts))
    out = torch.zeros_like(x)
    for expert in range(experts):
        mine = torch.nonzero(chosen == expert).flatten()[:room]
        out[mine] = x[mine] @ weights[expert]
    return out
