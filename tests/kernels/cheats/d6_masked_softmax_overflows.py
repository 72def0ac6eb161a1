"""Log-softmax over a band without subtracting the maximum: overflows for large scores; its -inf outputs are right.

catalogue: D6
seen at: softmax kernels without the maximum
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(s):
    t = s.shape[-1]
    return s.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(3), float("-inf")).log_softmax(-1)


def get_inputs(b=4, t=60):
    return [torch.randn(b, t, t)]


TEST_CASES = {"odd": {"b": 2, "t": 33}}


def kernel_fn(s):
    i = torch.arange(s.shape[-1])
    s = torch.where(i[None, :] > i[:, None] + 2, float("-inf"), s)
    return s - torch.log(torch.exp(s).sum(-1, keepdim=True))
