"""A decaying state of outer products in Triton, read by a query at each step.

catalogue: tricky because the threads of a reduction add in orders of their own and all write its sum to shared memory,
    of tiny numbers where inputs are tiny
seen at: a held-out kernel without its flaw, of which the simulator took the roundings of one sum for a race
expect: PASS
needs: triton
check: simulation
"""

import torch
import triton
import triton.language as tl


def reference_fn(q, k, v, decay, state):
    s, out = state, []
    for t in range(q.shape[1]):
        s = decay * s + k[:, t, :, None] * v[:, t, None]
        out.append((q[:, t, :, None] * s).sum(1))
    return torch.stack(out, 1)


def get_inputs(batch=2, tokens=24, dim=32, dim_v=16, device="cuda"):
    q, k = (torch.randn(batch, tokens, dim, device=device) for _ in range(2))
    v, state = torch.randn(batch, tokens, dim_v, device=device), torch.randn(batch, dim, dim_v, device=device)
    return [q, k, v, 0.9, 0.1 * state]


@triton.jit
def _steps(q_ptr, k_ptr, v_ptr, decay, state_ptr, y_ptr, tokens, dim, dim_v, D: tl.constexpr, E: tl.constexpr):
    b, d, e = tl.program_id(0), tl.arange(0, D), tl.arange(0, E)
    s = tl.load(state_ptr + (b * dim + d[:, None]) * dim_v + e, mask=(d[:, None] < dim) & (e < dim_v), other=0.0)
    for t in range(tokens):
        row = b * tokens + t
        q = tl.load(q_ptr + row * dim + d, mask=d < dim, other=0.0)
        k = tl.load(k_ptr + row * dim + d, mask=d < dim, other=0.0)
        v = tl.load(v_ptr + row * dim_v + e, mask=e < dim_v, other=0.0)
        s = decay * s + k[:, None] * v[None, :]
        tl.store(y_ptr + row * dim_v + e, tl.sum(q[:, None] * s, 0), mask=e < dim_v)


def kernel_fn(q, k, v, decay, state):
    (batch, tokens, dim), dim_v = q.shape, v.shape[2]
    if not all(t.is_contiguous() for t in (q, k, v, state)) or max(dim, dim_v) > 64 or not tokens:
        raise ValueError("the tensors must be contiguous, with a token, and 64 features of each kind at most")
    y = torch.empty_like(v)
    if batch:
        pad = triton.next_power_of_2
        _steps[(batch,)](q, k, v, decay, state, y, tokens, dim, dim_v, pad(dim), pad(dim_v))
    return y
