"""Greedy non-maximum suppression of boxes in order of score; the reference refuses boxes without an area.

catalogue: false-positive trap for B1
seen at: non-maximum suppression that checks its boxes
expect: PASS
needs: cpu
check: replay
"""

import torch


def reference_fn(boxes, scores):
    if bool((boxes[:, 2:] <= boxes[:, :2]).any()):
        raise ValueError("boxes must have x1 < x2 and y1 < y2")
    order = scores.argsort(descending=True, stable=True)
    keep = torch.zeros(len(boxes), dtype=torch.bool)
    kept = []
    for i in order.tolist():
        b, ok = boxes[i], True
        for j in kept:
            c = boxes[j]
            w = (torch.minimum(b[2], c[2]) - torch.maximum(b[0], c[0])).clamp_min(0)
            h = (torch.minimum(b[3], c[3]) - torch.maximum(b[1], c[1])).clamp_min(0)
            inter = w * h
            union = (b[2] - b[0]) * (b[3] - b[1]) + (c[2] - c[0]) * (c[3] - c[1]) - inter
            if inter / union > 0.5:
                ok = False
                break
        if ok:
            kept.append(i)
            keep[i] = True
    return keep


def get_inputs(n=40):
    """Boxes are x1, y1, x2, y2 with x1 < x2 and y1 < y2."""
    corner = torch.rand(n, 2) * 2
    return [torch.cat([corner, corner + 0.5 + torch.rand(n, 2)], 1), torch.randn(n)]


TEST_CASES = {"one": {"n": 1}, "odd": {"n": 17}}


def kernel_fn(boxes, scores):
    order = scores.argsort(descending=True, stable=True)
    b = boxes[order]
    area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    size = (torch.minimum(b[:, None, 2:], b[None, :, 2:]) - torch.maximum(b[:, None, :2], b[None, :, :2])).clamp_min(0)
    inter = size[..., 0] * size[..., 1]
    over = inter / (area[:, None] + area[None] - inter) > 0.5
    alive = torch.ones(len(b), dtype=torch.bool)
    for i in range(len(b)):
        if alive[i]:
            alive[i + 1 :] &= ~over[i, i + 1 :]
    out = torch.empty_like(alive)
    out[order] = alive
    return out
