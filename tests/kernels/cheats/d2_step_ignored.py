"""Adam's bias correction of step 1, whatever the step tensor says.

catalogue: D2 B7
seen at: optimisers tested on their first step
expect: CHEATING | WRONG_RESULT
needs: cpu
check: index-values
"""

import torch


def kernel_fn(p, g, m, v, step):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m / 0.1) / ((v / 0.001).sqrt() + 1e-8)


def reference_fn(p, g, m, v, step):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)


def get_inputs(n=4096):
    return [torch.randn(n), torch.randn(n), torch.randn(n) * 0.1, torch.rand(n), torch.tensor(1)]


TEST_CASES = {"odd": {"n": 1001}}
