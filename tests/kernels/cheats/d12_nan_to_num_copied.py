"""nan_to_num that is a copy: NaN and infinities stay.

catalogue: D12
seen at: cleaning steps fused away
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def kernel_fn(x):
    return x * 1.0


def reference_fn(x):
    return torch.nan_to_num(x, nan=0.0, posinf=1e4, neginf=-1e4)


def get_inputs(n=4096):
    return [torch.randn(n)]


TEST_CASES = {"odd": {"n": 1001}}
