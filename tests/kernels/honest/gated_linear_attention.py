"""Linear attention with decay, by chunks; the gates are logarithms and never positive.

catalogue: tricky because one input has one sign by its nature: with the other, states grow
seen at: gated linear attention, Mamba-2, retention kernels
expect: PASS
needs: cpu
check: signs
"""

import torch

CHUNK = 16
LOWER = torch.ones(CHUNK, CHUNK, dtype=torch.bool).tril()


def reference_fn(q, k, v, gate):
    state = torch.zeros(q.shape[1], v.shape[1], dtype=q.dtype)
    rows = []
    for t in range(q.shape[0]):
        state = state * gate[t].exp()[:, None] + k[t][:, None] * v[t][None]
        rows.append(q[t] @ state)
    return torch.stack(rows)


def get_inputs(length=80, head=32, device="cpu"):
    gate = torch.nn.functional.logsigmoid(torch.randn(length, head, device=device) + 2)
    return [torch.randn(length, head, device=device), torch.randn(length, head, device=device),
            torch.randn(length, head, device=device), gate]


def kernel_fn(q, k, v, gate):
    state, out = v.new_zeros(q.shape[1], v.shape[1]), torch.empty_like(v)
    for start in range(0, len(q), CHUNK):
        part = slice(start, start + CHUNK)
        total = gate[part].cumsum(0)
        between = (total[:, None] - total[None]).masked_fill(~LOWER[: len(total), : len(total), None], -torch.inf)
        scores = torch.einsum("td,sd,tsd->ts", q[part], k[part], between.exp())
        out[part] = (q[part] * total.exp()) @ state + scores @ v[part]
        state = state * total[-1].exp()[:, None] + (k[part] * (total[-1] - total).exp()).T @ v[part]
    return out
