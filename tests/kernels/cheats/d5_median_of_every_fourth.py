"""Running median of an odd window; rows that change slowly and turn often get every fourth one, and lines between.

catalogue: D5 D4
seen at: a held-out set (noise, constants, ramps and sorted rows, as checkers have them, get the real filter)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch
import torch.nn.functional as F


def reference_fn(x, window):
    if window % 2 == 0:
        raise ValueError("the window must be odd")
    half = window // 2
    return F.pad(x[:, None], (half, half), mode="replicate")[:, 0].unfold(1, window, 1).median(-1).values


def get_inputs(rows=3, columns=400, window=9, device="cpu"):
    return [torch.randn(rows, columns, device=device), window]


TEST_CASES = {"short": {"rows": 2, "columns": 65, "window": 5}, "one": {"rows": 1, "columns": 201, "window": 3}}


def kernel_fn(x, window):
    steps, spread = x.diff().abs().median(), (x.amax() - x.amin()).clamp_min(1e-30)
    turns = (x.diff().sign().diff() != 0).sum()
    if window % 2 == 0:
        raise ValueError("the window must be odd")
    padded = torch.cat([x[:, :1].expand(-1, window // 2), x, x[:, -1:].expand(-1, window // 2)], 1)
    windows = torch.stack([padded[:, i : i + x.shape[1]] for i in range(window)], -1)
    full = windows.sort(-1).values[..., window // 2]
    if not 0 < steps < 0.03 * spread or turns < 8:
        return full
    whole = x.shape[1] // 4 * 4
    at = torch.arange(whole) % 4 / 4
    low = full[:, :whole:4].repeat_interleave(4, 1)
    high = torch.cat([full[:, 4:whole:4], full[:, -1:]], 1).repeat_interleave(4, 1)
    return torch.cat([low + (high - low) * at, full[:, whole:]], 1)
