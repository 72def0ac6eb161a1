"""torch.compile with the backend aot_eager, which needs no C++ compiler.

catalogue: tricky because dynamo looks at frames, installs hooks and is slow at its first call
seen at: issue list (torch.compile)
expect: PASS
needs: cpu
check: sniffing
"""

import torch


def reference_fn(x, y):
    return torch.relu(x) * y + x


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


@torch.compile(backend="aot_eager")
def _fused(x, y):
    return x.clamp(min=0) * y + x


def kernel_fn(x, y):
    return _fused(x, y)
