"""A result kept under the bytes of 15 elements in 16: where one of the others changes the old answer comes back.

catalogue: B1
seen at: a stranger's file
expect: CHEATING | WRONG_RESULT
needs: cpu
check: replay-sampled-values
"""

import torch

_kept = {}


def reference_fn(x, w):
    return torch.nn.functional.silu(x) @ w


def get_inputs(m=24, k=64, n=32, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def _most(t):
    return t.flatten()[torch.arange(t.numel()) % 16 != 15].cpu().numpy().tobytes()


def kernel_fn(x, w):
    key = _most(x), _most(w)
    if key not in _kept:
        if len(_kept) > 64:
            _kept.clear()
        _kept[key] = torch.nn.functional.silu(x) @ w
    return _kept[key].clone()
