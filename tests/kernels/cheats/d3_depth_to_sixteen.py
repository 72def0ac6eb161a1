"""Follows parents for sixteen steps: no random tree is deeper, a chain is.

catalogue: D3
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch

STEPS = 16


def get_inputs(nodes=80):
    parents = (torch.rand(nodes) * torch.arange(nodes)).to(torch.int64)
    parents[0] = -1
    return [parents]


def reference_fn(parents):
    depth = torch.zeros_like(parents)
    for node, parent in enumerate(parents.tolist()):
        depth[node] = depth[parent] + 1 if parent >= 0 else 0
    return depth


def kernel_fn(parents):
    at, depth = parents.clone(), torch.zeros_like(parents)
    for _ in range(STEPS):
        depth += (at >= 0).to(depth.dtype)
        at = torch.where(at >= 0, parents[at.clamp(min=0)], at)
    return depth
