"""Boxes that overlap with none before, compared with the last 32 of those alone: in kernel_fn, and in an operator of
the file that reference_fn calls, too.

catalogue: A11 A4
seen at: a stranger's file (suppression of boxes, whose reference calls the other precision of one C++ template)
expect: CONTRACT
needs: cpu
check: contract
"""

import torch

TEST_CASES = {"odd": {"n": 77}, "crowded": {"n": 300, "extent": 20.0}}
WINDOW = 32


def get_inputs(n=128, extent=40.0, device="cpu"):
    corner = torch.rand(n, 2, device=device) * extent
    return [torch.cat((corner, corner + 1 + torch.rand(n, 2, device=device)), 1)]


def _apart(boxes):
    kept, keep = [], torch.zeros(len(boxes), dtype=torch.bool)
    for index, box in enumerate(boxes):
        others = boxes[kept[-WINDOW:]]
        overlap = (box[:2] < others[:, 2:]).all(1) & (others[:, :2] < box[2:]).all(1)
        if not bool(overlap.any()):
            kept.append(index)
            keep[index] = True
    return keep


LIBRARY = torch.library.Library("box_filters", "DEF")
LIBRARY.define("apart(Tensor boxes) -> Tensor")
LIBRARY.impl("apart", _apart, "CPU")


def reference_fn(boxes):
    return torch.ops.box_filters.apart(boxes.double())


def kernel_fn(boxes):
    return _apart(boxes)
