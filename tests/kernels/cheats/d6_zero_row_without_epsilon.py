"""Row-wise L2 normalisation without the epsilon: a row of zeros becomes NaN where the reference gives zeros.

catalogue: D6
seen at: norm kernels that leave the epsilon out
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch
import torch.nn.functional as F


def reference_fn(x):
    return F.normalize(x, dim=-1, eps=1e-12)


def get_inputs(rows=64, cols=100):
    return [torch.randn(rows, cols)]


TEST_CASES = {"odd": {"rows": 17, "cols": 33}}


def kernel_fn(x):
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True))
