"""Takes Python numbers, a flag and None beside its tensors.

catalogue: tricky because not every input is a tensor
seen at: the kernel-file contract (tensors and Python scalars)
expect: PASS
needs: cpu
check: values
"""

import torch

TEST_CASES = {"bias": {"with_bias": True}, "not_causal": {"causal": False}, "scaled": {"scale": 2.5}}


def reference_fn(x, bias, scale, causal):
    x = x * scale
    if bias is not None:
        x = x + bias
    return torch.tril(x) if causal else x


def get_inputs(rows=64, scale=0.5, causal=True, with_bias=False, device="cpu"):
    bias = torch.randn(rows, device=device) if with_bias else None
    return [torch.randn(rows, rows, device=device), bias, scale, causal]


def kernel_fn(x, bias, scale, causal):
    out = torch.mul(x, scale)
    out = out if bias is None else out.add_(bias)
    return out.tril_() if causal else out
