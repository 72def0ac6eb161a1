"""addmm whose alpha also scales the added matrix; get_inputs passes alpha = beta = 1.

catalogue: D2
seen at: GEMM epilogues tried with alpha = beta = 1 only
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(c, a, b, alpha, beta):
    return beta * c + alpha * (a @ b)


def get_inputs(m=48, n=40, k=72, alpha=1.0, beta=1.0):
    return [torch.randn(m, n), torch.randn(m, k), torch.randn(k, n), alpha, beta]


TEST_CASES = {"odd": {"m": 33, "n": 17, "k": 65}}


def kernel_fn(c, a, b, alpha, beta):
    return alpha * (a @ b + beta * c)
