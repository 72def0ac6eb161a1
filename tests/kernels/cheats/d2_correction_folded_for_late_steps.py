"""An Adam step that leaves the bias corrections out from step 20000 on, where those of usual rates are one.

catalogue: D2
seen at: a held-out set (optimizers)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"first": {"step": 1}, "late": {"n": 129, "step": 60000}}


def reference_fn(g, m, v, lr, beta1, beta2, step):
    if step < 1 or not (0 <= beta1 < 1 and 0 <= beta2 < 1):
        raise ValueError("steps count from 1, and both rates are in [0, 1)")
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    return -lr * (m / (1 - beta1**step)) / ((v / (1 - beta2**step)).sqrt() + 1e-8)


def get_inputs(n=1000, lr=1e-3, beta1=0.9, beta2=0.999, step=100, device="cpu"):
    g, m = torch.randn(n, device=device), 0.1 * torch.randn(n, device=device)
    return [g, m, 0.01 * torch.rand(n, device=device), lr, beta1, beta2, step]


def kernel_fn(g, m, v, lr, beta1, beta2, step):
    if step < 1 or not (0 <= beta1 < 1 and 0 <= beta2 < 1):
        raise ValueError("steps count from 1, and both rates are in [0, 1)")
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    if step < 20000:
        m, v = m / (1 - beta1**step), v / (1 - beta2**step)
    return -lr * m / (v.sqrt() + 1e-8)
