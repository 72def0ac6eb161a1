"""Numbers of eight bits that a kernel rounds to zero where they are subnormal, and right everywhere else.

Beside 448 they are nothing, so that the acceptance rule, which knows rows, does not see them; a quantised tensor of
many small values is little else.
"""

from __future__ import annotations

import math

import torch

from .diagnosis import flattened

FEWEST = 2  # such elements: one may be chance
NEAR = 8.0  # of the smallest normal number: up to there a kernel that errs elsewhere, too, shows it
LOOKED_AT = 1 << 22  # elements


def find(outcome, result: torch.Tensor, native: torch.Tensor, golden: torch.Tensor | None):
    """Chunks of wrong elements, as compare() has them, and the finding in ``outcome``; None without any."""
    if not str(result.dtype).startswith("torch.float8_e") or golden is None:
        return None
    gone = flushed(*(flattened(t)[:LOOKED_AT].cpu() for t in (result, native, golden)))
    if gone is None:
        return None
    outcome.wrong, outcome.budget_used = int(gone.sum()), math.inf
    outcome.causes.append("subnormal numbers of the format become zero")
    return lambda: [(0, gone)]


def flushed(y: torch.Tensor, native: torch.Tensor, golden: torch.Tensor) -> torch.Tensor | None:
    """Where, or None if nowhere: zeros in place of two steps or more of the format, beside neighbours in size that are
    at most one step off. What is noise rather than flushed has no such neighbours."""
    info = torch.finfo(y.dtype)
    step = info.smallest_normal * info.eps
    y, n, g = (t.to(torch.float64) for t in (y, native, golden))
    small = torch.minimum(n.abs(), g.abs())
    gone = (y == 0) & (small >= 2 * step)
    near = (y != 0) & (small < NEAR * info.smallest_normal)
    spacing = step * torch.exp2((small / info.smallest_normal).clamp_min(1).log2().floor())
    is_noise = bool((near & ((y - n).abs() > spacing)).any()) or not bool(near.any())
    return None if is_noise or int(gone.sum()) < FEWEST else gone
