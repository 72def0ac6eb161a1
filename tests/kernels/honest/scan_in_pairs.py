"""A recurrence by a scan of pairs (gate, value), joined two at a time: right for every gate, those near one, too.

catalogue: tricky because its sums are made in another order, and gates near one keep them all
seen at: parallel scans of state-space models
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(gate, x):
    state, states = torch.zeros_like(x[0]), []
    for g, v in zip(gate, x, strict=True):
        state = g * state + v
        states.append(state)
    return torch.stack(states)


def kernel_fn(gate, x):
    g, v, step = gate.clone(), x.clone(), 1
    while step < len(x):
        g, v = (torch.cat([g[:step], g[step:] * g[:-step]]), torch.cat([v[:step], v[step:] + g[step:] * v[:-step]]))
        step *= 2
    return v


def get_inputs(steps=300, columns=32, device="cpu"):
    return [torch.sigmoid(torch.randn(steps, columns, device=device)), torch.randn(steps, columns, device=device)]
