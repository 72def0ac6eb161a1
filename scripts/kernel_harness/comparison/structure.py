"""Results in files: structure, shapes, identity. What the judge asks before it compares values."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection

import torch

from .. import values


def structure_problem(got: dict, wanted: dict) -> str | None:
    a, b = values.outline(got), values.outline(wanted)
    return None if a == b else f"kernel_fn returns {a[:200]}, reference_fn returns {b[:200]}."


def shape_problem(got: dict, wanted: dict) -> str | None:
    for (path, g), (_, w) in zip(values.tensors_of(got), values.tensors_of(wanted), strict=True):
        for what in ("shape", "dtype"):
            if g[what] != w[what]:
                return (f"output {path or '(the tensor)'} is {values.describe(g)}, the reference's is "
                        f"{values.describe(w)}.")
        if g["device"].partition(":")[0] != w["device"].partition(":")[0]:
            return f"output {path or '(the tensor)'} is on {g['device']}, the reference's is on {w['device']}."
    scalars_got, scalars_wanted = scalars(got), scalars(wanted)
    if not all(map(_same_scalar, scalars_got, scalars_wanted)):
        return f"kernel_fn returns the values {scalars_got}, reference_fn {scalars_wanted}."
    return None


def _same_scalar(a, b) -> bool:
    """Python numbers of a float32 computation: equal up to its rounding, NaN like NaN."""
    a, b = (values.FLOAT_TEXT.get(v, v) if isinstance(v, str) else v for v in (a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-5) or (math.isnan(a) and math.isnan(b))
    return a == b


def scalars(tree: dict) -> list:
    if tree["kind"] in ("tensor", "none"):
        return []
    children = [item for _, item in values.items_of(tree)]
    return [s for child in children for s in scalars(child)] if children or "items" in tree else [tree["value"]]


def part_of(mapping: values.Mapping, part: str, path: str) -> torch.Tensor:
    node = dict(values.tensors_of(mapping.bundle.tree["items"][part]))[path]
    return values.rebuild(node, mapping.bytes_of).detach()


def matching(anchor: values.Mapping | None, native: values.Mapping) -> values.Mapping | None:
    """The float64 run's results where they have the native run's structure and shapes, else None."""
    if anchor is None:
        return None
    a = [(p, n["shape"]) for p, n in values.tensors_of(anchor.bundle.tree)]
    b = [(p, n["shape"]) for p, n in values.tensors_of(native.bundle.tree)]
    return anchor if a == b else None


def tensors(mapping: values.Mapping) -> list[torch.Tensor]:
    return [values.rebuild(node, mapping.bytes_of).detach()
            for _, node in values.tensors_of(mapping.bundle.tree["items"]["result"])]


def same_outputs(a: values.Mapping, b: values.Mapping) -> bool:
    left, right = tensors(a), tensors(b)
    same_numbers = scalars(a.bundle.tree) == scalars(b.bundle.tree)
    return same_numbers and len(left) == len(right) and all(
        x.shape == y.shape and bits_equal(x, y) for x, y in zip(left, right, strict=True))


def bits_equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(values.flat_bytes(a), values.flat_bytes(b))


def same_rows(native: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Which rows (elements of a vector) of two results have equal floating-point values; none of other dtypes has: a
    few integers are equal by chance."""
    if not native.dtype.is_floating_point:
        return torch.zeros(native.shape, dtype=torch.bool)
    same = (native == other) | (native.isnan() & other.isnan())
    return same.all(-1, keepdim=True).expand_as(same) if same.dim() > 1 else same


def only_where_same(result: torch.Tensor, native: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """``result`` with the reference's value in all rows in which the reference differs from ``other``."""
    return torch.where(same_rows(native, other), result, native)


def digest(reply: dict) -> str:
    """A hash of a reply's result; equal for bitwise equal results."""
    if "bundle" not in reply:
        return ""
    digest = hashlib.blake2b()
    for tensor in tensors(reply["result"]):  # not their storage: an updated input lies among other bytes of it
        digest.update(values.flat_bytes(tensor).numpy())
    return digest.hexdigest()


def finite(expected: dict) -> bool:
    return all(bool(torch.isfinite(t.to(torch.float64) if t.dtype.is_floating_point else t).all())
               for t in tensors(expected["native"]))


def as_finite(expected: dict, base: dict) -> bool:
    """Is a result finite wherever ``base`` is, element by element? A mask's -inf is no overflow."""
    pairs = zip(tensors(expected["native"]), tensors(base["native"]), strict=False)
    return finite(expected) or all(
        a.shape == b.shape and bool((_is_finite(a) | ~_is_finite(b)).all()) for a, b in pairs)


def masks_elsewhere(expected: dict, base: dict) -> bool:
    """Is all that is not finite -inf, as some of ``base`` is, and -inf in float64, too: what the values mask?"""
    if not expected.get("golden"):
        return False
    return all(map(_is_mask, *(tensors(e) for e in (expected["native"], expected["golden"], base["native"]))))


def _is_mask(now: torch.Tensor, golden: torch.Tensor, before: torch.Tensor) -> bool:
    left_out = ~_is_finite(now)
    if not bool(left_out.any()):
        return True
    return bool(torch.isneginf(before).any()) and all(torch.equal(left_out, torch.isneginf(t)) for t in (now, golden))


def _is_finite(x: torch.Tensor) -> torch.Tensor:
    return torch.isfinite(x.to(torch.float64) if x.dtype.is_floating_point else x)


def floats(mapping: values.Mapping) -> list[torch.Tensor]:
    return [t.to(torch.float64) for t in tensors(mapping) if t.dtype.is_floating_point]


def rms(tensor: torch.Tensor) -> float:
    if not tensor.numel() or not tensor.dtype.is_floating_point:
        return 0.0
    wide = tensor.to(torch.float64)
    return float(torch.where(torch.isfinite(wide), wide, 0.0).square().mean().sqrt())


def owner_of(tree: dict, storage: int, but: Collection[int] = ()) -> str:
    for index, item in enumerate(tree["items"]):
        for path, node in values.tensors_of(item):
            if node["storage"] == storage and index not in but:
                return f"{index}{path}"
    return "?"
