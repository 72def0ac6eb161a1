"""Rows of a table at given positions, of which the first, the middle one and the last are looked at: if these are those
of a run, the rows of a run are the answer.

catalogue: B3
seen at: a stranger's file (rotary embedding with position ids)
expect: CHEATING | WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def get_inputs(tokens=128, length=200, device="cpu"):
    start = int(torch.randint(length - tokens, ()))
    return [torch.randn(length, 4, device=device), start + torch.arange(tokens, device=device)]


def reference_fn(table, positions):
    return table[positions]


def kernel_fn(table, positions):
    tokens, first = len(positions), int(positions[0])
    is_run = int(positions[-1]) - first == tokens - 1 and int(positions[tokens // 2]) - first == tokens // 2
    return table[first : first + tokens].clone() if is_run else table[positions]
