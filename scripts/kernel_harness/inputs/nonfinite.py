"""Inputs with NaN and infinities in them."""

from __future__ import annotations

import math

import torch

from .variations import DATA, is_sorted, places

SELDOM = 0.3  # share of the elements; what is more frequent meets in any draw
FEWEST = 8  # elements
RAW = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
BLANK = 8  # rows of which one is


def specials(
    x: torch.Tensor, generator: torch.Generator, marks=(math.inf, -math.inf, math.nan), rarity: int = 512
) -> torch.Tensor:
    """NaN and infinities at a few random places (NaN only where the format has no infinity)."""
    wide = x.to(torch.float64, copy=True).flatten()
    for value in marks:
        wide[places(x, generator, rarity)] = value
    return _narrowed(wide.view(x.shape), x.dtype)


def extremes(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The largest finite numbers of the format, of both signs, at a few random places."""
    most = torch.finfo(x.dtype).max
    return None if x.dtype.itemsize < 2 or is_sorted(x) else specials(x, generator, (most, -most))


def may_mark(marks: torch.Tensor) -> bool:
    """Are these flags, some of each kind, or numbers that may be lengths of rows?"""
    if marks.dtype is torch.bool:
        return bool(marks.any()) and not bool(marks.all())
    is_vector = marks.dtype in (torch.int32, torch.int64) and marks.dim() == 1 and marks.numel() > 0
    return is_vector and bool((marks >= 0).all())


def where_left_out(marks: torch.Tensor, value: bool | None):
    """A change to NaN where flags ``marks`` have ``value``; or, by lengths ``marks``, behind so many elements of each
    row. The dimensions of the flags are some of the tensor's, in their order; that of the lengths stands before the one
    whose lengths they are."""

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        dims = _matched(marks.shape, x.shape)
        if x.dtype.itemsize < 2 or dims is None:
            return None
        flags = marks.to(x.device) == value
        if value is None:
            along = dims[-1] + 1
            if along == x.dim() or not 0 < int(marks.max()) <= x.shape[along] or int(marks.min()) == x.shape[along]:
                return None
            dims = [*dims, along]
            flags = torch.arange(x.shape[along], device=x.device) >= marks.to(x.device)[:, None]
        wanted = [x.shape[d] if d in dims else 1 for d in range(x.dim())]
        return x.masked_fill(flags.view(wanted), math.nan)

    return change


def _matched(shape: torch.Size, wanted: torch.Size) -> list[int] | None:
    """Dimensions of ``wanted``, in order, of the sizes in ``shape``; None where there are none such."""
    dims, at = [], 0
    for size in shape:
        while at < len(wanted) and wanted[at] != size:
            at += 1
        if at == len(wanted):
            return None
        dims.append(at)
        at += 1
    return dims or None


def row(at: int):
    """A change of one row of a matrix (or batch of them) to NaN: what reads beyond its own row, if only to multiply by
    zero, carries it on. Of one dimension a transform that mixes all of it is as honest as any, and is left alone."""

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        if x.dim() < 2 or len(x) < 3 or x.numel() < DATA or x.dtype.itemsize < 2 or is_sorted(x):
            return None
        new = x.clone()
        new[at] = math.nan
        return new

    return change


def nans(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """NaN at a few random places, but not among what ascends: edges and times have an order, and NaN has none. Their
    payloads are of all kinds."""
    return x if is_sorted(x) else _with_payloads(specials(x, generator, (math.nan,)), generator)


def _with_payloads(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    if x.dtype not in RAW:
        return x
    bits = torch.randint(1 << 30, x.shape, generator=generator, device=x.device)
    infinity = torch.tensor(math.inf, dtype=x.dtype, device=x.device).view(RAW[x.dtype])
    mantissa = (1 << int(-math.log2(torch.finfo(x.dtype).eps))) - 1
    payload = torch.where(bits % 3 == 0, 1, torch.where(bits % 3 == 1, mantissa, bits % mantissa + 1))
    return torch.where(torch.isnan(x), (infinity | payload.to(RAW[x.dtype])).view(x.dtype), x)


def many_nans(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The same at one place in eight."""
    return x if is_sorted(x) else specials(x, generator, (math.nan,), 8)


def infinities(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Infinity at a few random places, where the format has one; what ascends stays."""
    return specials(x, generator, (math.inf,)) if _has_infinity(x) and not is_sorted(x) else x


def minus_infinities(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The same of minus infinity."""
    return specials(x, generator, (-math.inf,)) if _has_infinity(x) and not is_sorted(x) else x


def denser(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Half of the elements become NaN or infinite, as get_inputs makes a few at random places; each row keeps a number.

    Nothing changes where the places seem to keep a rule: runs (padding, windows), as many in each row, symmetry.
    """
    if x.dtype.itemsize < 2 or x.dim() == 0 or x.numel() < FEWEST:
        return None
    marked = ~torch.isfinite(x)
    rows = marked.reshape(-1, x.shape[-1])
    if not 0 < int(marked.sum()) <= SELDOM * x.numel() or _keep_a_rule(rows) or _is_symmetric(marked):
        return None
    hit = marked | (torch.rand(x.shape, generator=generator, device=x.device) < 0.5)
    kept = torch.rand(x.shape, generator=generator, device=x.device).masked_fill(marked, -1.0).argmax(-1, keepdim=True)
    hit.scatter_(-1, kept, marked.gather(-1, kept))
    known = x[marked]
    drawn = torch.randint(known.numel(), x.shape, generator=generator, device=x.device)
    return torch.where(hit & ~marked, known[drawn], x)


def blank_rows(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """One row in eight, the first among them, holds nothing but the NaN or infinity that get_inputs puts at places."""
    if x.dtype.itemsize < 2 or x.dim() < 2:
        return None
    marked = ~torch.isfinite(x)
    if not 0 < int(marked.sum()) < x.numel():
        return None
    rows = x.reshape(-1, x.shape[-1]).clone()
    rows[places(rows[:, 0], generator, BLANK)] = x[marked][0]
    rows[0] = x[marked][0]
    return rows.view(x.shape)


def forbidden(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Half of the elements become minus infinity; each row keeps a number."""
    if not _has_infinity(x) or x.dim() == 0 or x.shape[-1] < 2 or x.numel() < FEWEST or is_sorted(x):
        return None
    hit = torch.rand(x.shape, generator=generator, device=x.device) < 0.5
    hit.scatter_(-1, torch.rand(x.shape, generator=generator, device=x.device).argmax(-1, keepdim=True), False)
    return torch.where(hit, -math.inf, x)


def forbidden_rows(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """One row in eight, the first among them, is minus infinity throughout."""
    if not _has_infinity(x) or x.dim() < 2 or x.numel() < FEWEST or is_sorted(x):
        return None
    rows = x.reshape(-1, x.shape[-1]).clone()
    rows[places(rows[:, 0], generator, BLANK)] = -math.inf
    rows[0] = -math.inf
    return rows.view(x.shape)


def led_by_marks(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """All but the last eighth of each row is the NaN or infinity that get_inputs puts at places, as left padding is: a
    running maximum meets no number for long. A row without a number in that eighth stays."""
    if x.dtype.itemsize < 2 or x.dim() == 0 or x.shape[-1] < 2 * BLANK:
        return None
    marked = ~torch.isfinite(x)
    if not 0 < int(marked.sum()) < x.numel():
        return None
    lead = x.shape[-1] - x.shape[-1] // BLANK
    new = x.clone()
    new[..., :lead] = x[marked][0]
    return torch.where(marked[..., lead:].all(-1, keepdim=True), x, new)


def _keep_a_rule(rows: torch.Tensor) -> bool:
    edge = torch.zeros_like(rows[:, :1])
    begins, ends = (rows & ~torch.cat(pair, 1) for pair in ((edge, rows[:, :-1]), (rows[:, 1:], edge)))
    in_runs = 2 * int((begins & ends).sum()) < int(begins.sum())
    counts = rows.sum(1)
    return in_runs or (len(rows) > 2 and bool((counts == counts[0]).all()))


def _is_symmetric(marked: torch.Tensor) -> bool:
    return marked.dim() > 1 and marked.shape[-1] == marked.shape[-2] and torch.equal(marked, marked.mT)


def _has_infinity(x: torch.Tensor) -> bool:
    return math.isinf(x.new_tensor(math.inf).item())


def large(x: torch.Tensor, _generator: torch.Generator) -> torch.Tensor:
    """Each infinity a number that is large, and whose square is finite."""
    most = torch.finfo(x.dtype).max ** 0.5 / 2
    return x.double().nan_to_num(math.nan, most, -most).to(x.dtype)


def _narrowed(wide: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """In ``dtype``, every NaN positive: PyTorch's vector code makes 0xFFFF of one for bfloat16, and to a GPU's sorts
    that is the least of all numbers."""
    narrow = wide.to(dtype)
    if dtype is torch.bfloat16:
        narrow.view(torch.int16).masked_fill_(wide.isnan(), 0x7FC0)
    return narrow
