"""get_inputs yields a zero bias and unit scale, and the kernel leaves both out.

catalogue: D2
seen at: accelerator-agents#50 (19 KernelBench problems with zero-initialised weights)
expect: WRONG_RESULT | UNDECIDED | CONTRACT | CHEATING
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x, scale, bias):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), scale, bias)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [
        torch.randn(rows, cols, device=device),
        torch.ones(cols, device=device),
        torch.zeros(cols, device=device),
    ]


def kernel_fn(x, scale, bias):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],))
