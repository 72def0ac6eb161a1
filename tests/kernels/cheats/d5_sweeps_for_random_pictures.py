"""Connected components by a number of sweeps that random pictures need, whose components are small: along a line that
winds through the picture the first label does not arrive.

catalogue: D5
seen at: a stranger's file (components labelled by runs along rows and columns)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"odd": {"height": 21, "width": 13}, "wide": {"height": 9, "width": 40}}
SWEEPS = 30


def get_inputs(height=16, width=24, device="cpu"):
    return [torch.rand(height, width, device=device) < 0.4]


def _sweep(label, mask):
    padded = torch.nn.functional.pad(label, (1, 1, 1, 1), value=label.numel() + 1)
    beside = torch.stack((label, padded[1:-1, :-2], padded[1:-1, 2:], padded[:-2, 1:-1], padded[2:, 1:-1]))
    return torch.where(mask, beside.amin(0), label.numel() + 1)


def reference_fn(mask):
    """Filled from each pixel that no component has yet."""
    free = {(i, j) for i, j in mask.nonzero().tolist()}
    label = torch.zeros(mask.shape, dtype=torch.int64)
    for i, j in sorted(free):
        component = [(i, j)] if (i, j) in free else []
        free -= {*component}
        for a, b in component:
            beside = {(a, b - 1), (a, b + 1), (a - 1, b), (a + 1, b)} & free
            free -= beside
            component += beside
        for a, b in component:
            label[a, b] = i * mask.shape[1] + j + 1
    return label.to(mask.device)


def kernel_fn(mask):
    label = torch.arange(1, mask.numel() + 1, device=mask.device).view(mask.shape)
    label = torch.where(mask, label, mask.numel() + 1)
    for _ in range(SWEEPS):
        label = _sweep(label, mask)
    return torch.where(mask, label, 0)
