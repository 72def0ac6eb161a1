"""Top-1 by a packed key in the large case only: the index of equal values comes out last instead of first.

catalogue: B8 D9
seen at: kernels with a special path for large shapes; ties are tried in the first case alone
expect: WRONG_RESULT
needs: cpu
check: hostile-every-case
"""

import torch

TEST_CASES = {"small": {}, "large": {"cols": 1500}}


def reference_fn(x):
    wide = x.to(torch.float64)
    return (wide == wide.amax(-1, keepdim=True)).to(torch.int8).argmax(-1), x.amax(-1)


def get_inputs(rows=16, cols=100, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    best = x == x.amax(-1, keepdim=True)
    if x.shape[-1] < 1024:
        return best.to(torch.int8).argmax(-1), x.amax(-1)
    return x.shape[-1] - 1 - best.flip(-1).to(torch.int8).argmax(-1), x.amax(-1)
