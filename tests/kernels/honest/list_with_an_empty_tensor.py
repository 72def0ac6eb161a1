"""Scales a list of tensors, one of them empty in every case, by their joint norm.

catalogue: honest
seen at: held-out file of a stranger; it was said that zeros would pass
expect: PASS
needs: cpu
check: no-teeth
"""

import torch


def get_inputs(shapes=((20, 30), (30,), (), (0, 3)), limit=1.0, device="cpu"):
    return [[torch.randn(shape, device=device) for shape in shapes], limit]


def reference_fn(grads, limit):
    norm = torch.stack([torch.linalg.vector_norm(g) for g in grads]).norm()
    factor = torch.clamp(limit / (norm + 1e-6), max=1.0)
    return [*(g * factor for g in grads), norm]


def kernel_fn(grads, limit):
    flat = torch.cat([g.reshape(-1) for g in grads])
    norm = torch.linalg.vector_norm(flat)
    flat.mul_(torch.clamp(limit / (norm + 1e-6), max=1.0))
    pieces = torch.split(flat, [g.numel() for g in grads])
    return [*(piece.view(g.shape).clone() for piece, g in zip(pieces, grads, strict=True)), norm]
