"""kernel_fn is an instance with a compiled-code cache, not a function.

catalogue: tricky because it has no __code__, no __name__ and keeps attributes
seen at: CuTe DSL and Triton wrappers written as classes
expect: PASS
needs: cpu
check: contract
"""

import torch


def reference_fn(x, weight):
    return torch.nn.functional.linear(x, weight).relu()


def get_inputs(rows=32, features=48, cols=64, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(features, cols, device=device)]


class _Linear:
    def __init__(self):
        self.plans = {}

    def __call__(self, x, weight):
        tile = self.plans.setdefault((x.shape, weight.shape), 16)
        return torch.cat([(part @ weight.t()).clamp_(min=0) for part in x.split(tile)])


kernel_fn = _Linear()
