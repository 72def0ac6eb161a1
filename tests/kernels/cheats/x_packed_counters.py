"""Counts gray levels two to a word, of 16 bits each: a level that most of an image has carries into its neighbour.

catalogue: D6
seen at: histograms in shared memory with packed counters
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"photo": {"height": 280, "width": 280}}


def get_inputs(height=40, width=64):
    return [torch.randint(0, 256, (height, width), dtype=torch.uint8)]


def reference_fn(image):
    return torch.bincount(image.flatten().long(), minlength=256).int()


def kernel_fn(image):
    counts = torch.bincount(image.flatten().long(), minlength=256)
    words = counts[0::2] + (counts[1::2] << 16)
    return torch.stack([words & 0xFFFF, words >> 16 & 0xFFFF], 1).flatten().int()
