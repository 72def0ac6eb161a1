"""A product of complex vectors of which one may be a lazy conjugate: it makes that one first, as a pointer needs it.

catalogue: D2
seen at: a stranger's honest file (rotary embedding in complex numbers)
expect: PASS
needs: cpu
check: values
"""

import torch


def get_inputs(n=500, matched=False):
    x, w = torch.randn(2, n, 2).unbind(0)
    w = torch.view_as_complex(w)
    return [torch.view_as_complex(x), w.conj() if matched else w]


TEST_CASES = {"matched": {"matched": True}}


def reference_fn(x, w):
    return x * w


def kernel_fn(x, w):
    (a, b), (c, d) = (torch.view_as_real(t.resolve_conj()).unbind(-1) for t in (x, w))
    return torch.complex(a * c - b * d, a * d + b * c)
