"""Where a result is wrong and what that looks like: first index, pattern of the wrong elements, likely cause."""

from __future__ import annotations

import math

import torch

SAMPLE_ELEMENTS = 1 << 22
SPREAD = 1 / 64  # share of the elements: fewer are wrong for another reason than the precision of all


def real(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(tensor.resolve_conj()) if tensor.dtype.is_complex else tensor


def flattened(tensor: torch.Tensor) -> torch.Tensor:
    """A flat view where the strides allow it; a copy (in the tensor's own dtype) where they do not."""
    return tensor.detach().reshape(-1)


def locate(outcome, result, native, wrong_chunks) -> None:
    """The first wrong element, both values, and the pattern of the wrong ones."""
    collected, kept = [], 0
    for start, wrong in wrong_chunks():
        index = wrong.nonzero().squeeze(1)
        if index.numel() and kept < SAMPLE_ELEMENTS:
            collected.append((index + start).cpu())
            kept += index.numel()
    flat = torch.cat(collected)
    shape = list(real(result).shape)
    first = int(flat[0])
    outcome.first_index = _unravel(first, shape)[: len(outcome.shape)]
    outcome.kernel_value = _scalar(flattened(real(result))[first])
    outcome.reference_value = _scalar(flattened(real(native))[first])
    outcome.where = _pattern(flat, shape, outcome.wrong)
    outcome.causes += _causes(outcome, result, native)


def wrong_text(label: str, c) -> str:
    """What a finding says of a compare.Comparison that failed."""
    causes = "".join(f" Likely cause: {text}." for text in c.causes)
    return f"{numbers(c)} ({label}). Wrong: {c.where or 'nowhere in particular'}.{causes}"


def numbers(c) -> str:
    where = f"output {c.path} " if c.path else ""
    if c.first_index is None:
        return f"{where}error {c.max_error:.3g} uses {c.budget_used:.3g} of the budget"
    return (
        f"{where}{c.wrong} of {c.total} elements are wrong, first at {c.first_index}: kernel {c.kernel_value!r}, "
        f"reference {c.reference_value!r}; largest error {c.max_error:.3g}, {c.budget_used:.3g} times the bound"
    )


def _pattern(flat: torch.Tensor, shape: list[int], wrong: int) -> str:
    total = math.prod(shape)
    if wrong == total:
        return "every element"
    if wrong == 1:
        return "a single element"
    coordinates, rest = [], flat
    for size in reversed(shape):
        coordinates.insert(0, rest % size)
        rest = rest // size
    texts = []
    for axis, (values, size) in enumerate(zip(coordinates, shape, strict=True)):
        low, high, distinct = int(values.min()), int(values.max()), values.unique().numel()
        name = f"dimension {axis} (size {size})"
        if distinct == size:
            continue
        if distinct == 1:
            texts.append(f"only at {low} of {name}")
        elif distinct == high - low + 1 and high == size - 1:
            texts.append(f"{'only in the tail' if 2 * low >= size else 'everywhere'} from {low} on of {name}")
        elif distinct == high - low + 1:
            texts.append(f"only in {low}..{high} of {name}")
        else:
            step = int(values.unique().diff().min())
            is_regular = step > 1 and distinct == (high - low) // step + 1 > 2
            stride = f", {step} apart," if is_regular else ""
            texts.append(f"at {distinct} places between {low} and {high}{stride} of {name}")
    box = "; ".join(texts) if texts else "scattered over all dimensions"
    return f"{box} ({100 * wrong / total:.3g} % of the elements)"


def _causes(outcome, result, native) -> list[str]:
    causes = []
    bad, good = flattened(real(result)), flattened(real(native))
    sample = slice(0, SAMPLE_ELEMENTS)
    values, expected = bad[sample].to(torch.float64), good[sample].to(torch.float64)
    if outcome.wrong == outcome.total and bool((values == 0).all()) and bool((expected != 0).any()):
        causes.append("the kernel returns zeros: nothing was written, or the launch had no blocks")
    elif torch.isnan(values).any() and not torch.isnan(expected).any():
        causes.append(
            "NaN where the reference has none: memory that was never written (outputs start as NaN here), "
            "0 * inf, or exp overflow"
        )
    if not native.dtype.is_floating_point and outcome.max_error == 1 and outcome.wrong < 0.01 * outcome.total:
        causes.append(
            "off by one in few places: a rounding tie; check the order of operations, x / y against x * (1 / y), and "
            "ties to even (references/kernel-file.md)"
        )
    elif "tail" in outcome.where and native.dtype in (torch.int32, torch.int64):
        causes.append(
            "the last places of rows of indices, if these are sorted: which of equal values comes first; else a "
            "missing bounds check in the last tile"
        )
    elif "tail" in outcome.where:
        causes.append("the tail of a dimension: a missing or wrong bounds check (predicate) in the last tile")
    elif outcome.where.startswith("only at") or outcome.where.startswith("only in"):
        causes.append(
            "one region only: a tile, row or block that is skipped, written twice or read with a wrong offset"
        )
    return causes


def explain_loss(outcome, lost: int, allowed: int) -> None:
    """Count ``lost`` elements as wrong of which no digit is right, though each is within its bound."""
    outcome.wrong += lost
    outcome.budget_used = max(outcome.budget_used, lost / allowed)
    outcome.causes.append(
        f"small beside the others of their row, {lost} elements have no right digit, where the reference has; at most "
        f"{allowed} may (a difference of large numbers, an intermediate in fewer bits, a flush to zero)"
    )


def explain_precision(outcome, dtype: torch.dtype) -> None:
    if outcome.wrong_class or outcome.rms_golden == 0 or 0 < outcome.wrong < SPREAD * outcome.total:
        return
    relative = outcome.rms_error / outcome.rms_golden
    reference = outcome.rms_reference_error / outcome.rms_golden
    if relative > 0.05 or relative < 4 * max(reference, 1e-17):
        return
    kinds = [
        (2.0**-3, "8-bit floats"),
        (2.0**-7.5, "bfloat16 (inputs or accumulator)"),
        (2.0**-10.5, "TF32 or float16"),
        (2.0**-14, "a float16-like or approximate intermediate"),
        (2.0**-24, "float32"),
    ]
    near = min(kinds, key=lambda kind: abs(math.log2(relative) - math.log2(kind[0])))[1]
    outcome.causes.append(
        f"right but less precise than PyTorch in {str(dtype).removeprefix('torch.')}: relative error {relative:.1e} "
        f"against {reference:.1e}; this looks like {near} arithmetic inside, or a small part of a sum that is left out "
        "or counted twice"
    )


def _unravel(index: int, shape: list[int]) -> list[int]:
    coordinates = []
    for size in reversed(shape):
        coordinates.insert(0, index % size)
        index //= size
    return coordinates


def _scalar(value: torch.Tensor):
    return value.item() if not value.dtype.is_floating_point else float(value)
