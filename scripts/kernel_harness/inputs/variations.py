"""Inputs that no kernel file has seen: the judge's own variations of what get_inputs made.

Each works on a copy of a bundle's file and leaves integers, sizes and strides alone unless it says otherwise.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import torch

from .. import values
from ..outputs import leaves
from ..values import Bundle
from .structured import FEW, is_structured

GPU_BYTES = 4 * 2**20  # inputs larger than this are varied on the GPU where there is one
RUN = 16  # elements: a vector of what is read together
DATA = 64  # elements; fewer are parameters
PART_ELEMENTS = 1 << 26  # a float64 copy of one part is 512 MiB; inputs of gigabytes are varied part by part
RAW = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
FINITE_MAX = {torch.float16: 65504.0, torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}


def copy(bundle: Bundle, file: Path) -> Bundle:
    """The same values in another file, guard zones restored."""
    shutil.copyfile(bundle.file, file)
    return dataclasses.replace(bundle, file=str(file))


def rewrite(target: values.Mapping, source: Bundle) -> None:
    """Put the bytes of ``source`` into the mapped file of an equal layout: new values in the same memory."""
    fresh = values.Mapping(source, writable=False)
    for index, span in enumerate(target.bundle.spans):
        if span.nbytes:
            target.bytes_of(index).copy_(fresh.bytes_of(index))


def same_layout(a: Bundle, b: Bundle) -> bool:
    return a.spans == b.spans and _without_scalars(a.tree) == _without_scalars(b.tree)


def varied(
    bundle: Bundle,
    file: Path,
    change: Callable[[torch.Tensor, torch.Generator], torch.Tensor | None],
    seed: int,
    only: set[int] | None = None,
    kinds: str = "float",
) -> tuple[Bundle, bool]:
    """A copy whose tensors went through ``change(values, generator)``; the flag says whether any byte differs.

    only: indices of inputs to change. kinds: "float" for floating and complex tensors, "index" for integers and
    booleans, "ruled" for floating tensors whose values keep a rule (structured.py), which "float" leaves alone.
    """
    new = copy(bundle, file)
    inputs = values.rebuild(new.tree, values.Mapping(new).bytes_of)
    large_input = torch.cuda.is_available() and bundle.size > GPU_BYTES
    generator = torch.Generator("cuda" if large_input else "cpu").manual_seed(seed)
    changed = False
    data = sum(t.dtype.is_floating_point and t.numel() > 1 for value in inputs for t in leaves(value, all_tensors=True))
    for index, value in enumerate(inputs):
        if only is not None and index not in only:
            continue
        for place, tensor in enumerate(leaves(value, all_tensors=True)):
            tensor, is_complex = _as_in_memory(tensor.detach()), tensor.dtype.is_complex
            floating = tensor.dtype.is_floating_point or is_complex
            if tensor.dtype in values.PACKED or not tensor.numel() or floating == (kinds == "index"):
                continue
            tensor = torch.view_as_real(tensor) if is_complex else tensor
            old = tensor.to(generator.device)
            is_ruled = floating and ((index, place) in bundle.symbols or is_structured(old))
            if floating and (kinds == "ruled" or change is not shuffle) and is_ruled != (kinds == "ruled"):
                continue
            result = change(old, generator)
            if is_complex and change is warp and not bool(old[..., 1].any()):
                result[..., 1] = result[..., 0].flip(-1) if result.dim() > 1 else result[..., 0]  # real is no rule
            if result is not None and floating and is_sorted(old):
                result = result.sort(dim=-1).values  # what comes sorted is meant to be
                if data > 1 and not bool((old.diff(dim=-1) == 0).any()) and bool((result.diff(dim=-1) == 0).any()):
                    continue  # knots, edges, times: two at one place mean nothing. Alone it may be any data
            if result is not None and not torch.equal(_raw(result), _raw(old)):
                # Through an expanded (stride 0) dimension the last value written wins, for every reader alike.
                _assign(tensor, result.cpu())
                changed = True
    old = result = None
    if large_input:
        torch.cuda.empty_cache()  # both workers use the same GPU
    return new, changed


def _as_in_memory(x: torch.Tensor) -> torch.Tensor:
    """What lies in memory, without a conjugation or a sign that readers are to add."""
    x = x.conj() if x.is_conj() else x
    return torch._neg_view(x) if x.is_neg() else x


def warp(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Every non-zero finite value grows by 5 to 35 %, more the larger it is; order, signs and zeros stay.

    No stored answer survives this, and what inputs usually promise (sorted, positive, masked) does. What would outgrow
    [-1, 1], as uniform numbers, cosines and decays would, shrinks instead. A constant tensor, such as a zero bias,
    becomes random: nothing else could show whether a kernel reads it.
    """
    strength = 0.15 + 0.2 * torch.rand((), generator=generator, device=x.device, dtype=torch.float64)
    first = x.reshape(-1)[:1].to(torch.float64)
    if x.numel() > 1 and bool(torch.isfinite(first)) and all(bool((part == first).all()) for part in wide_parts(x)):
        base = 1.0 if first == 0 else first.abs()
        draw = {"generator": generator, "device": x.device, "dtype": torch.float64}
        return _in_parts(x, lambda part: part + base * torch.rand(part.shape, **draw))
    squares = sum(torch.where(torch.isfinite(part), part, 0.0).square().sum() for part in wide_parts(x))
    scale = (squares / x.numel()).sqrt().clamp_min(1e-300)
    largest = max(float(torch.where(torch.isfinite(part), part, 0.0).abs().max()) for part in wide_parts(x))
    power = -1.0 if largest <= 1.0 < 1.4 * largest else 1.0

    def moved(part: torch.Tensor) -> torch.Tensor:
        ratio = (part / scale).square()
        return torch.where(torch.isfinite(part), part * (1.05 + strength * ratio / (1 + ratio)) ** power, part)

    return _in_parts(x, moved)


def _raw(x: torch.Tensor) -> torch.Tensor:
    """The bits of x, flat, as integers: what every device can compare and gather, whatever the dtype."""
    return x.reshape(-1).view(RAW[x.element_size()])


def wide_parts(x: torch.Tensor):
    """x in float64, in flat parts."""
    return (part.to(torch.float64) for part in x.reshape(-1).split(PART_ELEMENTS))


def _in_parts(x: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """``change`` of x in float64, back in the dtype of x."""
    result = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    for target, part in zip(result.view(-1).split(PART_ELEMENTS), wide_parts(x), strict=True):
        target.copy_(cast(change(part), x.dtype))
    return result


def swap(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """A few pairs of elements change places: sums, extremes, and most samples of the data stay what they were."""
    flat = x.reshape(-1).clone()
    order = _distinct_places(x, 2 * min(max(1, flat.numel() // 128), 4096, flat.numel() // 2), generator)
    if len(order) < 2:
        return flat.view(x.shape)
    first, second = order[: len(order) // 2 * 2].chunk(2)
    raw = flat.view(torch.uint8).view(flat.numel(), -1) if flat.element_size() > 1 else flat.view(torch.uint8)
    raw[first], raw[second] = raw[second].clone(), raw[first].clone()
    return flat.view(x.shape)


def swap_one(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One pair of elements changes places: a signature of samples most likely stays what it was."""
    flat = x.reshape(-1).clone()
    places = _distinct_places(x, 64, generator)[:2].tolist()  # 64: some of them are finite
    if len(places) == 2:
        i, j = places
        flat[i], flat[j] = flat[j].clone(), flat[i].clone()
    return flat.view(x.shape)


def shrink_one(number: int):
    """A change of one finite element, which loses a quarter. ``number`` places it in each run of RUN elements in turn:
    what looks at a part of each leaves one out."""

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        flat = x.reshape(-1).clone()
        places = _distinct_places(x, 256, generator)
        places = torch.cat([places[places % RUN == number % RUN], places])[:1]
        flat[places] = (flat[places].to(torch.float64) * 0.75).to(x.dtype)
        return flat.view(x.shape)

    return change


def grow_one(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """One finite element behind the first row becomes twice the largest: what is kept of a maximum is out of date."""
    row = x.shape[-1] if x.dim() > 1 else 1
    places = _distinct_places(x, 256, generator) if x.dtype.itemsize > 1 else torch.zeros(0)
    if not len(places := places[places >= row]):
        return None
    flat = x.reshape(-1).clone()
    finite = torch.where(torch.isfinite(flat), flat, 0).to(torch.float64)
    flat[places[:1]] = cast(2 * finite.abs().max() * (1 if flat[places[0]] >= 0 else -1), x.dtype)
    return flat.view(x.shape)


def flip(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """A few elements of a tensor that has both signs change theirs; magnitudes stay."""
    if x.dtype.itemsize < 2 or not (bool((x < 0).any()) and bool((x > 0).any())):  # 8-bit formats have no arithmetic
        return None
    flat = x.reshape(-1).clone()
    places = _distinct_places(x, max(2, flat.numel() // 128), generator)
    flat[places] = -flat[places]
    return flat.view(x.shape)


def rotate(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Every row turns by the same number of places: what it holds stays, where each value is does not."""
    columns = x.shape[-1] if x.dim() else 1
    if columns <= FEW or not all(bool(torch.isfinite(part).all()) for part in wide_parts(x)):
        return None  # NaN and infinities mark places
    by = int(torch.randint(1, columns, (), generator=generator, device=x.device))
    return _raw(x).view(x.shape).roll(by, -1).view(x.dtype)


def _distinct_places(x: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """int64, at most (count,): flat indices of finite elements in random order, no two the same.

    NaN and infinities stay where get_inputs put them: they mark what must not be read, or mask it.
    """
    if x.numel() <= 8 * count:
        places = torch.randperm(x.numel(), generator=generator, device=x.device)[:count]
    else:
        places = torch.randint(x.numel(), (4 * count,), generator=generator, device=x.device).unique()
        places = places[torch.randperm(places.numel(), generator=generator, device=x.device)[:count]]
    if not x.dtype.is_floating_point:
        return places
    return places[torch.isfinite(_raw(x)[places].view(x.dtype).to(torch.float64))]


def scramble(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Other integers: a constant becomes a draw from 1 to it, one alone grows by one, a mask and a constant 0 or 1 flip
    a quarter, the rest shuffle."""
    if x.numel() == 1 and x.dtype is not torch.bool:
        return x + 1
    if x.dtype is torch.bool:
        return x ^ (torch.rand(x.shape, generator=generator, device=x.device) < 0.25)
    if x.numel() > 1 and bool((x == x.flatten()[0]).all()):
        top, draw = int(x.flatten()[0]), {"generator": generator, "device": x.device}
        if top in (0, 1):  # the first of several, or a mask in integers
            return torch.where(torch.rand(x.shape, **draw) < 0.25, 1 - x, x)
        return torch.randint(1, top + 1, x.shape, **draw).to(x.dtype) if top > 1 else None
    return shuffle(x, generator)


def shuffle(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    flat, count = x.reshape(-1), x.numel()
    if count > PART_ELEMENTS:  # a permutation of this many takes more memory than a GPU has
        cut = int(torch.randint(1, count, (), generator=generator, device=x.device))
        rolled = torch.empty_like(flat)
        rolled[: count - cut].copy_(flat[cut:])
        rolled[count - cut :].copy_(flat[:cut])
        return rolled.view(x.shape)
    order = torch.randperm(count, generator=generator, device=x.device)
    return _raw(flat)[order].view(x.dtype).view(x.shape)


def pry(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Other values than those that keep a rule: the same in another order, or larger ones where order is the rule."""
    return warp(x, generator) if x.dim() == 0 or is_sorted(x) else shuffle(x, generator)


def repeat(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """A quarter of the elements take the values of others: counts and sums move, which no order does."""
    flat = x.reshape(-1).clone()
    places = _distinct_places(x, max(2, flat.numel() // 2), generator)
    half = len(places) // 2
    flat[places[:half]] = flat[places[half : 2 * half]]
    return flat.view(x.shape)


def places(x: torch.Tensor, generator: torch.Generator, rarity: int) -> torch.Tensor:
    """Indices of one element in ``rarity``, at least one."""
    count = max(1, x.numel() // rarity)
    return torch.randint(x.numel(), (count,), generator=generator, device=x.device)


def is_sorted(x: torch.Tensor) -> bool:
    return (
        x.dim() > 0
        and x.shape[-1] > 3
        and x.dtype.itemsize > 1
        and bool((x.diff(dim=-1) >= 0).all())
        and bool((x != x.flatten()[0]).any())
    )


def cast(wide: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if limit := FINITE_MAX.get(dtype):
        wide = torch.where(torch.isfinite(wide), wide.clamp(-limit, limit), wide)
    return wide.to(dtype)


def _assign(target: torch.Tensor, value: torch.Tensor) -> None:
    if any(size > 1 and stride == 0 for size, stride in zip(target.shape, target.stride(), strict=True)):
        cells = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in target.stride())
        target, value = target[cells], value[cells]
    target.copy_(value)


def _without_scalars(tree: dict):
    if tree["kind"] == "tensor":
        return {key: tree[key] for key in ("dtype", "shape", "stride", "storage", "offset")}
    if tree["kind"] in ("list", "tuple"):
        return [_without_scalars(item) for item in tree["items"]]
    if tree["kind"] == "dict":
        return {key: _without_scalars(item) for key, item in tree["items"].items()}
    return tree  # a changed scalar argument changes what the kernel is asked for
