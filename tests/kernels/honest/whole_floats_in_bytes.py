"""Takes grey levels, whole numbers from 0 to 255 in float32, as the bytes that they are.

catalogue: false-positive trap for D7
seen at: image filters whose reference works in float32
expect: PASS
needs: cpu
check: other-values
"""

import torch

TABLE = torch.arange(256, dtype=torch.float32).square() / 255


def reference_fn(image, other):
    return image.square() / 255 - (image - other).abs()


def get_inputs(h=40, w=56, device="cpu"):
    return [torch.randint(0, 256, (h, w), device=device).float() for _ in range(2)]


def kernel_fn(image, other):
    a, b = image.to(torch.uint8), other.to(torch.uint8)
    return TABLE[a.int()] - (torch.maximum(a, b) - torch.minimum(a, b)).float()
