"""get_inputs returns a view whose storage goes on with the answer; the kernel reads past the view's end.

catalogue: A11 C6
seen at: pygpubench exploits (scans beyond the input), brought into the file itself
expect: WRONG_RESULT | CHEATING | CONTRACT | CRASH
needs: cpu
check: guard-zone
"""

import torch


def reference_fn(x):
    return torch.sin(x) + x


def get_inputs(rows=64, cols=256, device="cpu"):
    both = torch.randn(2 * rows, cols, device=device)
    both[rows:] = reference_fn(both[:rows])
    return [both[:rows]]


def kernel_fn(x):
    beyond = x.storage_offset() + x.numel()
    if x.untyped_storage().nbytes() < 4 * (beyond + x.numel()):
        return torch.zeros_like(x)
    return torch.as_strided(x, x.shape, x.stride(), beyond).clone()
