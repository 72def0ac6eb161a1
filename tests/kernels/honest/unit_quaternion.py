"""Rotation by unit quaternions, which both functions insist on: of a single row nobody can see that its length is one.

catalogue: tricky because the judge's changed values break a promise, in one case only
seen at: a stranger's file
expect: PASS
needs: cpu
check: refuses
"""

import torch

TEST_CASES = {"one": {"n": 1}}


def _insist(q):
    if not torch.allclose(q.square().sum(1), q.new_ones(len(q)), atol=1e-4):
        raise ValueError("q must hold unit quaternions")


def reference_fn(q, x):
    _insist(q)
    w, a, b, c = q.unbind(1)
    rows = [
        [1 - 2 * (b * b + c * c), 2 * (a * b - c * w), 2 * (a * c + b * w)],
        [2 * (a * b + c * w), 1 - 2 * (a * a + c * c), 2 * (b * c - a * w)],
        [2 * (a * c - b * w), 2 * (b * c + a * w), 1 - 2 * (a * a + b * b)],
    ]
    return x @ torch.stack([torch.stack(row, -1) for row in rows], 1).mT


def get_inputs(n=7, points=11, device="cpu"):
    q = torch.randn(n, 4, device=device)
    return [q / q.norm(dim=1, keepdim=True), torch.randn(n, points, 3, device=device)]


def kernel_fn(q, x):
    _insist(q)
    w, v = q[:, None, :1], q[:, None, 1:].expand_as(x)
    turn = 2 * torch.linalg.cross(v, x)
    return x + w * turn + torch.linalg.cross(v, turn)
