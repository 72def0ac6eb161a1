"""A normalisation over the rows: where they are all alike their variance is zero, and rounding decides the rest.

catalogue: tricky because rows that are all alike have no variance
seen at: own idea
expect: PASS
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"rows": 33, "columns": 7}, "half": {"dtype": torch.float16}}


def get_inputs(rows=64, columns=24, dtype=torch.float32):
    return [torch.randn(*shape, dtype=dtype) for shape in ((rows, columns), (columns,), (columns,))]


def reference_fn(x, weight, bias):
    return torch.nn.functional.batch_norm(x, None, None, weight, bias, training=True)


def kernel_fn(x, weight, bias):
    wide = x.float()
    mean = wide.mean(0)
    variance = ((wide - mean) ** 2).mean(0)
    return ((wide - mean) * torch.rsqrt(variance + 1e-5) * weight.float() + bias.float()).to(x.dtype)
