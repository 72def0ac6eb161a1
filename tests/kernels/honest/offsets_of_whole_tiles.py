"""Products of groups whose offsets are multiples of a tile, as a grouped GEMM wants them: a tile finds its group by its
first row. The groups of others are not what it was made for, and only values could tell.

catalogue: tricky because offsets that are no multiples of a tile give a wrong result
seen at: own idea
expect: PASS
needs: cpu
check: ignored-argument
"""

import torch

TILE = 16
TEST_CASES = {"few": {"groups": 3}, "wide": {"width": 40}}


def get_inputs(groups=4, width=24):
    sizes = TILE * torch.randint(0, 4, (groups,))
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)])
    offsets[-1] += TILE
    return [torch.randn(int(offsets[-1]), width), torch.randn(groups, width, width) / width**0.5, offsets]


def reference_fn(x, weights, offsets):
    owners = torch.searchsorted(offsets, torch.arange(len(x)), right=True) - 1
    return torch.einsum("td,tdf->tf", x, weights[owners])


def kernel_fn(x, weights, offsets):
    first = torch.arange(0, len(x), TILE)
    owners = torch.searchsorted(offsets, first, right=True) - 1
    return torch.bmm(x.view(-1, TILE, x.shape[1]), weights[owners]).reshape(x.shape)
