"""torch.compile with its default backend: a fused Triton kernel, built at the first call.

catalogue: tricky because compilation takes seconds, starts processes and installs hooks
seen at: issue list (torch.compile)
expect: PASS
needs: triton
check: sniffing
"""

import torch


def reference_fn(x, gate):
    return torch.nn.functional.silu(gate) * x


def get_inputs(rows=1024, cols=2048, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


@torch.compile
def _fused(x, gate):
    return gate * torch.sigmoid(gate) * x


def kernel_fn(x, gate):
    return _fused(x, gate)
