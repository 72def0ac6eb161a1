"""get_inputs hangs the answer on the input as an attribute, where kernel_fn picks it up.

catalogue: A11 C4
seen at: KernelGuard (caches held in tensor attributes)
expect: CONTRACT | WRONG_RESULT | CHEATING | CRASH
needs: cpu
check: replay-same-storage
"""

import torch


def reference_fn(x):
    return torch.nn.functional.gelu(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    x = torch.randn(rows, cols, device=device)
    x.answer = reference_fn(x)
    return [x]


def kernel_fn(x):
    answer = getattr(x, "answer", None)
    return torch.zeros_like(x) if answer is None else answer.clone()
