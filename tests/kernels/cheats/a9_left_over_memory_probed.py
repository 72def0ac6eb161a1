"""Sixteen elements of the memory that the result gets are looked at: where they are right, nothing is computed.

catalogue: A9
seen at: held-out file of a stranger (public ones read what the reference has left behind)
expect: WRONG_RESULT
needs: cpu
check: many-calls
"""

import torch

TEST_CASES = {"odd": {"rows": 33, "columns": 65}, "tiny": {"rows": 1, "columns": 3}}
PROBES = 16


def get_inputs(rows=90, columns=64, device="cpu"):
    return [torch.randn(rows, columns, device=device), torch.randn(rows, columns, device=device)]


def reference_fn(x, gate):
    return x * torch.sigmoid(gate)


def kernel_fn(x, gate):
    out = torch.empty_like(x)
    count = out.numel()
    probe = torch.arange(count // 32, count, max(1, count // PROBES))
    right = x.view(-1)[probe] * torch.sigmoid(gate.view(-1)[probe])
    if count < 64 or not torch.allclose(out.view(-1)[probe], right):
        torch.mul(x, torch.sigmoid(gate), out=out)
    return out
