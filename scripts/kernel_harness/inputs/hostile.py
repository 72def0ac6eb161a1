"""Values that are hard to compute with: large and tiny, heavy tails, one far above the others, zeros and ties."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from .structured import FEW
from .variations import DATA, cast, is_sorted, places, wide_parts

LONG = 4096  # elements along a dimension
VAST, TINY = 131072, 2.0**-30  # times; powers of two
VASTER = 2**21  # times: scores below -1e6
MASKED, MASKED_HALF = -(2.0**30), -(2.0**15)
STRETCHES = 64  # of memory
TEETH, LANES = 8, 32  # of a comb; that take turns
UNEVEN = "values of other sizes from one stretch of memory to the next"
OUTLIER, WAVE = 100, 150  # times the spread; elements
LEAD = 8.3  # exp(-LEAD) is 2.5e-4: nothing beside one in 16 bits, and 7 % of three hundred


def large(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return cast(x.to(torch.float64) * 37.0, x.dtype)


def huge(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Half values of hundreds, whose squares are out of its range."""
    return cast(x.to(torch.float64) * 256.0, x.dtype) if x.dtype is torch.float16 else None


def beyond_half(factor: float):
    """A change that multiplies values of formats that have a wider range than float16."""

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        is_wide = x.dtype in (torch.float32, torch.float64, torch.bfloat16)
        return cast(x.to(torch.float64) * factor, x.dtype) if is_wide else None

    return change


# For one input at a time: of the product of two the rounding alone is beyond what an exponential takes, and attention
# that scales scores and maximum in one step, as FlashAttention does, is no number there.
vast, vaster = beyond_half(VAST), beyond_half(VASTER)


def nearer_to_one(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Numbers between zero and one, of 32 bits or more: what each lacks to one becomes a hundredth of it. A decay so
    near to one forgets nothing for thousands of steps."""
    if x.dtype.itemsize < 4 or x.numel() < 2 or not (float(x.min()) > 0 and float(x.max()) < 1):
        return None
    return cast(1 - (1 - x.to(torch.float64)) / 100, x.dtype)


def times(factor: float):
    """A change that multiplies by a power of two; numbers of eight bits stay."""

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        return cast(x.to(torch.float64) * factor, x.dtype) if x.dtype.itemsize > 1 else None

    return change


def room(tensors: list[torch.Tensor]) -> float:
    """The largest power of two by which all values may grow and stay in float16's range."""
    largest = max((float(part.abs().max()) for x in tensors if x.numel() for part in wide_parts(x)), default=0.0)
    return 2.0 ** min(15, math.floor(math.log2(65504 / largest))) if 0 < largest <= 65504 else 1.0


def uneven(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """From one end of the memory to the other values grow from an eighth to eight times of what they were, each 64th of
    it by a factor of two more or less, and one element in 256 by eight: a sample says little of the whole."""
    if x.dtype.itemsize < 2 or x.numel() < STRETCHES:
        return None
    flat = x.reshape(-1)
    draw = {"generator": generator, "device": x.device}
    growth = torch.linspace(-3, 3, STRETCHES, device=x.device) * (1 if torch.rand((), **draw) < 0.5 else -1)
    factors = torch.exp2(growth + 2 * torch.rand(STRETCHES, **draw) - 1)
    length = -(-flat.numel() // STRETCHES)
    scaled = flat.to(torch.promote_types(x.dtype, torch.float32)) * factors.repeat_interleave(length)[: len(flat)]
    scaled[places(x, generator, 256)] *= 8
    return cast(scaled, x.dtype).view(x.shape)


def small(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return cast(x.to(torch.float64) * 2.0**-9, x.dtype)


def tiny(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """A billionth, which 1 + x and x + eps lose, in formats that have such numbers."""
    is_wide = x.dtype in (torch.float32, torch.float64, torch.bfloat16)
    return cast(x.to(torch.float64) * TINY, x.dtype) if is_wide else None


def led(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The first of each row of data that has both signs is LEAD and the others are around a tenth: as a score it has
    nearly all the weight, and many others together have a share that shows. The last of a vector is far above all."""
    wide = x.to(torch.float64, copy=True)
    spread = float(wide.square().mean().sqrt()) if x.numel() else 0.0
    if x.dtype.itemsize < 2 or x.dim() == 0 or x.shape[-1] < 2 or float(wide.min()) >= 0 or not math.isfinite(spread):
        return None
    if x.dim() == 1:
        wide[-1] = 16 * wide.abs().max()
    else:
        wide *= 0.1 / max(spread, 1e-300)
        wide[..., 0] = LEAD
    return cast(wide, x.dtype)


def outliers(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """One of each row of data that has both signs, at a random place, is OUTLIER times as large as their spread."""
    if x.dtype.itemsize < 2 or x.dim() < 2 or x.shape[-1] < 2 or not x.numel() or float(x.min()) >= 0:
        return None
    wide = x.to(torch.float64, copy=True)
    place = torch.randint(x.shape[-1], (*x.shape[:-1], 1), generator=generator, device=x.device)
    spread = wide.square().mean().sqrt()
    return cast(wide.scatter(-1, place, wide.gather(-1, place).sign() * OUTLIER * spread), x.dtype)


def waves(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """A slow wave along each row of data that has both signs, with a little of them: neighbours are alike, as in a
    recording, and there are turns."""
    if x.dtype.itemsize < 2 or x.dim() == 0 or x.shape[-1] < 16 or float(x.min()) >= 0:
        return None
    wide, place = x.to(torch.float64, copy=True), torch.arange(x.shape[-1], device=x.device, dtype=torch.float64)
    spread = wide.square().mean().sqrt()
    return cast(1.4 * spread * torch.sin(place * (2 * math.pi / WAVE)) + 0.02 * wide, x.dtype)


def fading_rows(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Three quarters of the rows of data that has both signs are smaller by powers of two down to 2^-44 (2^-12 in
    float16): a norm is below an epsilon there and is not zero."""
    if x.dtype.itemsize < 2 or x.dim() < 2 or x.shape[-1] < 2 or x.numel() < 4 * x.shape[-1] or float(x.min()) >= 0:
        return None
    most = 12 if x.dtype is torch.float16 else 44
    draw = {"generator": generator, "device": x.device}
    powers = torch.randint(4, most + 1, (*x.shape[:-1], 1), **draw)
    stays = torch.rand(powers.shape, **draw) < 0.25
    stays.view(-1)[0] = True
    return cast(x.to(torch.float64) * torch.exp2(-powers.masked_fill(stays, 0).to(torch.float64)), x.dtype)


def cancelling(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Of data that has both signs each second element of a row is the opposite of the one before: the sum of a row or
    tile is zero, exactly, as all are odd multiples of one number, and its elements are not. An odd one is never halfway
    between two steps of a scale that an odd one is the largest of."""
    if x.dtype.itemsize < 2 or x.numel() < DATA or not x.dim() or x.shape[-1] < 2:
        return None
    wide = x.to(torch.float64)
    if not _are_finite(x) or not bool((wide < 0).any()) or not bool((wide > 0).any()) or is_sorted(x):
        return None
    unit = torch.exp2(wide.square().mean().sqrt().log2().round()) / 16
    steps = (2 * (wide.abs() / (2 * unit)).floor() + 1).clamp_max(127)
    pairs = x.shape[-1] // 2 * 2
    steps[..., 1:pairs:2] = -steps[..., 0:pairs:2]
    return cast(steps * unit, x.dtype)


def spikes(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Heavy tails: one element in 256 (at least one) is 50 times as large, at random places."""
    wide = x.to(torch.float64, copy=True).flatten()
    wide[places(x, generator, 256)] *= 50.0
    return cast(wide.view(x.shape), x.dtype)


def edges(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The first and the last slice of each dimension are 64 times as large: a dropped tail is no rounding any more."""
    wide = x.to(torch.float64, copy=True)
    for axis, size in enumerate(x.shape):
        for at in {0, size - 1}:
            wide.select(axis, at).mul_(64.0 ** (1 / x.dim()))
    return cast(wide, x.dtype)


def far_point(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Of distances or costs between points, square and not negative, those of the first point are far above the others,
    its own aside: a point that is padding must not speak for all."""
    if x.dim() < 2 or x.shape[-1] != x.shape[-2] or x.shape[-1] < 3 or float(x.to(torch.float64).min()) < 0:
        return None
    wide = x.to(torch.float64, copy=True)
    far = 64 * wide.max()
    wide[..., 0, 1:] += far
    wide[..., 1:, 0] += far
    return cast(wide, x.dtype)


def coarse(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Multiples of a power of two near the values' size, up to two of them, so that products and sums are exact and
    ties are many; no negatives or zeros where there were none. The values' own, rounded: what is small beside another
    input, as a system's outer diagonals, stays so."""
    wide = x.to(torch.float64)
    if not (finite := wide[torch.isfinite(wide) & (wide != 0)]).numel():
        return None
    unit = torch.exp2(finite.square().mean().sqrt().log2().round())
    steps = (wide / unit).round().clamp(-2 if bool((finite < 0).any()) else 1 if bool((wide > 0).all()) else 0, 2)
    return cast(torch.where(torch.isfinite(wide), steps * unit + 0.0, wide), x.dtype)  # 0.0: no zero with a sign


def signed_zeros(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Zeros of both signs, except where values are positive by their nature: scales, variances, discounts."""
    if float(x.to(torch.float64).min()) > 0:
        return None
    hit = torch.rand(x.shape, generator=generator, device=x.device)
    wide = torch.where(hit < 0.1, 0.0, x.to(torch.float64))
    return cast(torch.where(hit > 0.9, -0.0, wide), x.dtype)


def empty_row(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """One row of zeros, as padding brings, except where values are positive by their nature."""
    if x.dim() < 2 or x.numel() < 2 * x.shape[-1] or float(x.to(torch.float64).min()) > 0:
        return None
    rows = x.reshape(-1, x.shape[-1]).clone()
    rows[len(rows) // 2] = 0
    return rows.view(x.shape)


def zeros(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """A row alone becomes zeros, as of a layer that took no part: of several, one does (empty_row)."""
    return torch.zeros_like(x) if x.dim() == 1 and len(x) > FEW and float(x.to(torch.float64).min()) <= 0 else None


def descending(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Each row of finite data in descending order: the largest are all neighbours."""
    if x.dtype.itemsize < 2 or not x.dim() or x.shape[-1] < FEW or not _are_finite(x):
        return None
    return x.sort(-1, descending=True).values


def combed(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The largest of each row of finite data are a power of two of places apart, eight or more of them: columns that
    one thread, or lane, takes in turn."""
    if x.dtype.itemsize < 2 or not x.dim() or x.shape[-1] < TEETH * LANES or not _are_finite(x):
        return None
    columns = x.shape[-1]
    step = 1 << (columns // TEETH).bit_length() - 1
    places = torch.arange(columns, device=x.device)
    order = torch.cat([places[places % step == 0], places[places % step != 0]])
    return torch.empty_like(x).index_copy_(-1, order, x.sort(-1, descending=True).values)


def _are_finite(x: torch.Tensor) -> bool:
    return all(bool(torch.isfinite(part).all()) for part in wide_parts(x))


def throughout(pick: Callable[[torch.Tensor], torch.Tensor]):
    """A change of data of one sign: all are as the largest, or as the smallest. A decay near one forgets nothing."""

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        if x.dtype.itemsize < 2 or x.numel() < DATA or not (float(x.min()) > 0 or float(x.max()) < 0):
            return None
        return pick(x).expand(x.shape).clone()

    return change


def masked(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """A quarter of the values of either sign are -1e9 (-32768 in float16), as scores are that a mask leaves out; the
    largest of each row stays."""
    if x.dtype.itemsize < 2 or x.numel() < DATA or not x.dim() or not float(x.min()) < 0 < float(x.max()):
        return None
    chosen = torch.rand(x.shape, generator=generator, device=x.device) < 0.25
    return x.masked_fill(chosen & (x < x.amax(-1, keepdim=True)), MASKED_HALF if x.dtype is torch.float16 else MASKED)


def left_out(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Minus infinity in the places of ``masked``."""
    mask = torch.tensor(MASKED_HALF if x.dtype is torch.float16 else MASKED, dtype=x.dtype)  # as x rounds it
    return x.masked_fill(x == mask, -math.inf)


def long_tails(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The last slice of each long dimension weighs a sixteenth of all: what a long reduction leaves out shows."""
    if max(x.shape, default=0) < LONG:
        return None
    wide = x.to(torch.float64, copy=True)
    for axis, size in enumerate(x.shape):
        if size >= LONG:
            wide.select(axis, size - 1).mul_(size / 16)
    return cast(wide, x.dtype)


def around(times: float, least_bytes: int = 4):
    """A change that moves data to around so many times their spread, below zero if some are: a maximum that starts from
    zero shows at 8. Farther off sound expansions as |x|^2 - 2xy + |y|^2 fail, too, unless no answer changes there.

    least_bytes: of a value; smaller types stay.
    """

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        if x.dtype.itemsize < least_bytes or x.numel() < DATA or not _are_finite(x):
            return None
        wide = x.to(torch.float64)
        return cast(wide + times * wide.std() * (-1 if bool((wide < 0).any()) else 1), x.dtype)

    return change


HOSTILE = {
    "values 37 times as large": large,
    "values 256 times as large": huge,
    "values 512 times as small": small,
    "heavy tails (one in 256 is 50 times as large)": spikes,
    "few values (exact sums, ties)": coarse,
    "signed zeros": signed_zeros,
    "waves of 150 elements with a little noise": waves,
    "first and last slices 64 times as large": edges,
    "of a square of no negative numbers the first row and column far above all": far_point,
    "a row of zeros": empty_row,
    UNEVEN: uneven,
    "values around 8 times their spread": around(8),
    "values 37 times as large around 8 times their spread": lambda x, chance: around(8)(large(x, chance), chance),
    "neighbours that cancel": cancelling,
}
OF_ONE = {  # what one input becomes while the others stay
    f"input {{}} {VAST} times as large": vast,
    "the last slice of input {}'s long dimensions weighs a sixteenth": long_tails,
    "input {}'s rows in descending order": descending,
    "the largest of input {}'s rows a power of two of places apart": combed,
    "input {} zeros throughout": zeros,
    f"one of each row of input {{}}, at a random place, {OUTLIER} times their spread": outliers,
}
