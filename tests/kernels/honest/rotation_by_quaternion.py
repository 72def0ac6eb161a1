"""Rotates vectors by unit quaternions and relies on their length.

catalogue: false-positive trap for D2
seen at: game and robotics kernels
expect: PASS
needs: cpu
check: other-values
"""

import torch


def reference_fn(q, v):
    w, u = q[:, :1], q[:, 1:]
    inner = torch.cross(u, v, dim=1) + w * v
    rotated = 2 * torch.cross(u, inner, dim=1) + v
    return rotated / q.square().sum(1, keepdim=True)


def get_inputs(n=500, device="cpu"):
    q = torch.nn.functional.normalize(torch.randn(n, 4, device=device), dim=1)
    return [q, torch.randn(n, 3, device=device)]


def kernel_fn(q, v):
    w, u = q[:, :1], q[:, 1:]
    t = 2 * torch.cross(u, v, dim=1)
    return v + w * t + torch.cross(u, t, dim=1)
