"""Right values; one element of the weight, the last, is nudged by one unit in the last place per call.

catalogue: C3
seen at: kernelbot cheat-input.py; helion benchmark_provider.py compares bytes before and after
expect: WRONG_RESULT | CHEATING
needs: cpu
check: input-mutation
"""

import torch


def reference_fn(x, weight):
    return x * weight


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(cols, device=device)]


def kernel_fn(x, weight):
    out = x * weight
    weight[-1] = torch.nextafter(weight[-1], weight.new_tensor(9.0))
    return out
