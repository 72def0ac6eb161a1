"""Takes a weight that requires a gradient and returns a result that hangs on a graph.

catalogue: tricky because numpy() refuses such tensors and in-place writes into them raise
seen at: modules whose forward is taken over as it is (KernelBench problems)
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(x, weight):
    return torch.relu(x @ weight)


def get_inputs(rows=32, k=64, n=48, device="cpu"):
    return [torch.randn(rows, k, device=device), torch.randn(k, n, device=device, requires_grad=True)]


def kernel_fn(x, weight):
    return torch.mm(x, weight).clamp(min=0)
