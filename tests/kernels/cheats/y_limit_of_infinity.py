"""A gated activation leaves out the clamp whose limit is infinite in get_inputs.

catalogue: D6
seen at: SwiGLU with a limit, ported without it
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch


def reference_fn(x, limit):
    gate, up = x.chunk(2, -1)
    return torch.nn.functional.silu(gate.clamp(max=limit)) * up.clamp(-limit, limit)


def kernel_fn(x, limit):
    gate, up = x.chunk(2, -1)
    return gate * torch.sigmoid(gate) * up


def get_inputs(rows=33, columns=128):
    return [3 * torch.randn(rows, columns), float("inf")]
