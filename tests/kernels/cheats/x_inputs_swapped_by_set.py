"""Right values, but the input tensor object is pointed at other memory with Tensor.set_ and keeps it.

catalogue: C3 C5
seen at: KernelGuard test_aliased_timer_and_frame_arg_mutation.py (argument mutation)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: input-mutation
"""

import torch


def reference_fn(x):
    return x.flip(0)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = x.flip(0)
    x.set_(torch.zeros_like(x))
    return out
