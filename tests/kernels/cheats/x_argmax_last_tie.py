"""Among equal maxima it returns the last index; the reference, on integers with many ties, the first.

catalogue: D5 D9
seen at: survey section (b) 5 (ties among the hostile values)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return x.argmax(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randint(0, 4, (rows, cols), device=device)]


def kernel_fn(x):
    return x.shape[-1] - 1 - x.flip(-1).argmax(dim=-1)
