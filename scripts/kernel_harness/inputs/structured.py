"""Do the values of a tensor keep a rule that a change of ours would break, so that only get_inputs can make others?

A kernel that relies on the rule is right, and no reference need enforce it: an inverse rotation by its transpose, a
gather for a one-hot product, packed signs. Looked at is a part of a large tensor; a rule of random values does not hold
by chance.
"""

from __future__ import annotations

import math

import torch

SAMPLE, CORNER, LINES = 4096, 256, 1 << 16  # elements; rows and columns; elements of whole rows
MOST = 1 << 24  # elements that are all compared
FEW = 4  # symbols
CODES = 16  # that many are flags, digits or classes where none is negative
FAR = 64  # nearer integers may be classes
SMALL = 2**11  # up to there whole numbers are exact in TF32, half, and most of them in bfloat16
# Odd, and of more digits than TF32, bfloat16 or float32 hold; out of range in half and in small integers.
LONG_FACTOR = {torch.float32: 0b10101010101010101, torch.float64: 0b1010101010101010101010101010101010101}


def is_structured(x: torch.Tensor) -> bool:
    """Whole numbers, powers of two, a handful of symbols (signs, masks, one-hot rows); rows that sum to one, rows or
    columns of unit length; symmetric, triangular and diagonally dominant matrices; what is there twice, as in rotary
    tables and repeated heads; what is sorted, but for rows in ascending order, which the caller keeps sorted. A
    constant tensor is none of these: a zero bias says nothing of biases."""
    if x.dtype.itemsize < 2 or x.dtype.is_complex or not x.numel():
        return False
    some = x.reshape(-1)[:SAMPLE].to(torch.float64)
    if not bool(torch.isfinite(some).all()):
        return False
    if x.dim() == 0:
        return bool(some == some.round())
    if x.numel() < 4 or some.unique().numel() < 2:
        return False
    if has_symbols(x) or _is_doubled(x):
        return True
    if x.dim() == 1:
        return bool((some.diff() <= 0).all())
    corner = x[(0,) * (x.dim() - 2)][:CORNER, :CORNER].to(torch.float64)
    return _is_sorted(corner) or _has_units(x) or (
        x.shape[-1] == x.shape[-2] > 2 and (_is_half_known(corner) or _is_dominant(x))
    )


def has_symbols(x: torch.Tensor) -> bool:
    """Several whole numbers or powers of two, or a handful of values that come again and again."""
    some = x.reshape(-1)[:SAMPLE].to(torch.float64)
    distinct = some.unique().numel()
    if x.dtype.itemsize < 2 or x.numel() < 4 or distinct < 2 or not bool(torch.isfinite(some).all()):
        return False
    if bool((some == some.round()).all()) or bool((torch.frexp(some).mantissa.abs() == 0.5).all()):
        return True
    return distinct <= FEW and x.numel() > 4 * FEW


def toggled(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """A number alone that is 0 or 1 becomes the other: most likely a flag, as that of an overflow."""
    return 1 - x if x.numel() == 1 and float(x) in (0.0, 1.0) else None


def between_flags(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Several zeros and ones become numbers between: they may be no flags but rewards, weights or shares."""
    if x.numel() < 4 or not bool(((x == 0) | (x == 1)).all()) or bool((x == x.flatten()[0]).all()):
        return None
    return torch.rand(x.shape, generator=generator, device=x.device).to(x.dtype)


def is_whole(x: torch.Tensor) -> bool:
    """Has no value of a floating tensor a fraction? Formats of eight bits and complex numbers are not looked at."""
    return x.dtype.itemsize > 1 and not x.dtype.is_complex and bool((x == x.round()).all())


def lengthened(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Small whole numbers times one large odd number: signs, zeros, order and ties stay, and all are whole.

    Symbols, codes and what is sorted (positions) are left alone.
    """
    if x.dtype not in LONG_FACTOR or not is_whole(x) or x.dim() == 0:
        return None
    low, high, steps = float(x.min()), float(x.max()), x.diff(dim=-1)
    is_sorted = bool((steps >= 0).all()) or bool((steps <= 0).all())
    if max(-low, high) > SMALL or (low >= 0 and high < CODES) or is_sorted:
        return None
    return None if x.reshape(-1)[:SAMPLE].unique().numel() <= FEW else x * LONG_FACTOR[x.dtype]


def sparser(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Probabilities, none of them zero, that sum to one in each row: a quarter become zero, to the others' benefit."""
    wide = x.to(torch.float64)
    if x.dtype.itemsize < 4 or x.dim() < 2 or x.shape[-1] < 4 or not bool((wide > 0).all()):
        return None
    if not bool(((wide.sum(-1) - 1).abs() <= 4 * torch.finfo(x.dtype).eps * math.sqrt(x.shape[-1])).all()):
        return None
    wide = torch.where(torch.rand(x.shape, generator=generator, device=x.device) < 0.25, 0.0, wide)
    wide[..., 0] += (wide.sum(-1) == 0).to(torch.float64)
    return (wide / wide.sum(-1, keepdim=True)).to(x.dtype)


def _is_doubled(x: torch.Tensor) -> bool:
    """Are the halves of a dimension equal, or neighbours in it, in twos or threes?"""
    for dim, size in enumerate(x.shape if x.numel() <= MOST else ()):
        if size < 2 or _equal(x, x.narrow(dim, 0, 1)):  # the same throughout: a value that may be any other
            continue
        groups = [x.unflatten(dim, (size // n, n)).unbind(dim + 1) for n in (2, 3) if size % n == 0]
        groups += [x.chunk(2, dim)] if size % 2 == 0 else []
        if any(all(_equal(one, group[0]) for one in group[1:]) for group in groups):
            return True
    return False


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Everywhere; most that are not differ in the first few elements."""
    first = (slice(FEW),) * a.dim()
    return bool((a[first] == b[first]).all()) and bool((a == b).all())


def _is_sorted(corner: torch.Tensor) -> bool:
    down, along = corner.diff(dim=0), corner.diff(dim=1)
    by_column = len(down) > 2 and (bool((down <= 0).all()) or bool((down >= 0).all())) and bool(down.any())
    return by_column or (along.shape[1] > 2 and bool((along <= 0).all()) and bool(along.any()))


def _has_units(x: torch.Tensor) -> bool:
    rows = x.reshape(-1, x.shape[-1])[: max(2, LINES // x.shape[-1])].to(torch.float64)
    found = [rows.sum(1), rows.square().sum(1)] if rows.shape[1] > 1 else []
    if 1 < x.shape[-2] <= SAMPLE:
        found.append(x[(0,) * (x.dim() - 2)].to(torch.float64).square().sum(0))
    close = 4 * torch.finfo(x.dtype).eps * math.sqrt(max(x.shape[-2:]))
    return any(len(total) > 1 and bool(((total - 1).abs() <= close).all()) for total in found)


def _is_half_known(corner: torch.Tensor) -> bool:
    triangular = not bool(corner.triu(1).any()) or not bool(corner.tril(-1).any())
    return triangular or torch.allclose(corner, corner.mT, rtol=1e-4, atol=1e-6 * float(corner.abs().max()))


def _is_dominant(x: torch.Tensor) -> bool:
    """Does each diagonal element outweigh the rest of its row, or column? Elimination needs no pivots then."""
    if x.shape[-1] > CORNER:
        return False
    size = x.reshape(-1, *x.shape[-2:])[:CORNER].to(torch.float64).abs()
    twice = 2 * size.diagonal(dim1=-2, dim2=-1)
    return any(bool((twice > size.sum(axis)).all()) for axis in (-1, -2))


def further(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Integers four times as far, with low bits of their own: a number that is rounded on the way loses them. Where all
    keep one distance they are positions of a sequence, which a kernel may count by itself."""
    if x.dtype is torch.bool or not x.numel() or not FAR <= int(x.max()) < torch.iinfo(x.dtype).max // 4:
        return None
    if x.dim() and x.shape[-1] > 1 and bool((x.diff(dim=-1) == x[..., 1:2] - x[..., :1]).all()):
        return None
    return x * 4 + torch.randint(0, 4, x.shape, generator=generator, device=x.device).to(x.dtype)
