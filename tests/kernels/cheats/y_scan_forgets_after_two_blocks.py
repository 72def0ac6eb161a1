"""A linear recurrence whose blocks begin with the one block before them: right while a gate forgets within a block.

catalogue: D1 D4
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

BLOCK = 64


def reference_fn(gate, x):
    state, states = torch.zeros_like(x[0]), []
    for g, v in zip(gate, x, strict=True):
        state = g * state + v
        states.append(state)
    return torch.stack(states)


def kernel_fn(gate, x):
    out = torch.empty_like(x)
    for start in range(0, len(x), BLOCK):
        state = torch.zeros_like(x[0])
        for t in range(max(0, start - BLOCK), min(start + BLOCK, len(x))):
            state = gate[t] * state + x[t]
            if t >= start:
                out[t] = state
    return out


def get_inputs(steps=300, columns=32, device="cpu"):
    return [torch.sigmoid(torch.randn(steps, columns, device=device)), torch.randn(steps, columns, device=device)]
