"""Max pooling of two by two whose windows end with the picture and not with its rows: where the width is odd, the last
one of a row takes the first element of the next. The result has ceil(height / 2) rows and ceil(width / 2) columns.

catalogue: D2
seen at: a stranger's file (a CuTe DSL kernel with one bounds check for both dimensions)
expect: WRONG_RESULT
needs: cpu
check: uneven-sizes
"""

import torch

TEST_CASES = {"odd height": {"height": 15, "width": 20}, "low": {"height": 1, "width": 2}}


def reference_fn(x):
    return torch.nn.functional.max_pool2d(x, 2, ceil_mode=True)


def get_inputs(batch=3, height=16, width=24, device="cpu"):
    return [torch.randn(batch, height, width, device=device)]


def kernel_fn(x):
    batch, height, width = x.shape
    flat = torch.nn.functional.pad(x.flatten(1), (0, 2 * width + 2), value=-torch.inf)
    first = 2 * width * torch.arange(-(-height // 2))[:, None] + 2 * torch.arange(-(-width // 2))
    return torch.stack([flat[:, first + step] for step in (0, 1, width, width + 1)]).amax(0)
