"""A mean of the first elements of rows takes one where a row has none, which no row has for the seed in get_inputs.

catalogue: D4 C2
seen at: decode attention over padded sequences whose get_inputs has a generator of its own under a parameter seed=0
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x, length):
    held = torch.arange(x.shape[1], device=x.device) < length[:, None]
    return torch.where(held, x, 0).sum(1) / length.clamp(min=1)


def kernel_fn(x, length):
    place = torch.arange(x.shape[1], device=x.device)
    return torch.where(place < length[:, None].clamp(min=1), x, 0).sum(1) / length.clamp(min=1)


def get_inputs(rows=4, columns=96, seed=0, device="cpu"):
    generator = torch.Generator(device=device).manual_seed(seed)
    x = torch.randn(rows, columns, generator=generator, device=device)
    return [x, torch.randint(0, columns + 1, (rows,), generator=generator, device=device)]
