"""What the reference answers to changed values beside what it answers to the first ones: is the change a trial at all?

expected, base: answers of CaseJudge._reference.
"""

from __future__ import annotations

from ..comparison.structure import floats, rms, tensors
from ..inputs import hostile

KEPT = 2.0**-8  # of the size of answers, or more, where tiny inputs have meaning of their own, as a direction
LARGER = 4  # times
VAST = 2.0**96  # of float32's 2^128: a step on the way, of another order than the reference's, may overflow
NEARLY = 2.0**-6  # relative error of the root mean square; bfloat16 operands make 2^-9


def keep_size(expected: dict, base: dict) -> bool:
    """Are the answers real numbers as large as on the first inputs? Of smaller ones a kernel may keep the digits that
    show beside those, and of choices among numbers that hardly differ there is more than one right."""
    now, before = (tensors(kind["golden"] or kind["native"]) for kind in (expected, base))
    if len(now) != len(before) or not all(t.dtype.is_floating_point for t in before):
        return False
    return all(rms(new) >= KEPT * rms(old) for new, old in zip(now, before, strict=True))


def shrink_alike(expected: dict, base: dict) -> bool:
    """Are the answers those on the first inputs times a power of what these were made smaller by (hostile.tiny), as
    those of a product are? There are no other digits then beside which they might be lost."""
    now, before = (floats(kind["golden"] or kind["native"]) for kind in (expected, base))
    if not before or [t.shape for t in now] != [t.shape for t in before]:
        return False
    if not all(bool(t.isfinite().all()) for t in (*now, *before)):
        return False  # a mask, by values that hardly differ now
    pairs = list(zip(now, before, strict=True))
    are_scaled = lambda times: all(rms(new / times - old) <= NEARLY * rms(old) for new, old in pairs)
    return any(map(are_scaled, (hostile.TINY, hostile.TINY**2)))


def are_as_before(expected: dict, base: dict, within: float) -> bool:
    """Are the golden answers those of the first inputs? Of a normalisation, say, which sees no offset."""
    if not (expected["golden"] and base["golden"]):
        return False
    pairs = list(zip(floats(expected["golden"]), floats(base["golden"]), strict=False))
    return bool(pairs) and all(
        now.shape == before.shape and float((now - before).norm()) <= within * float(before.norm())
        for now, before in pairs
    )


def are_no_larger(expected: dict, base: dict) -> bool:
    """Is no answer far beyond those on the first inputs? Of a softmax or a choice, which leave out what is masked."""
    now, before = (floats(kind["golden"] or kind["native"]) for kind in (expected, base))
    pairs = zip(now, before, strict=True)
    return len(now) == len(before) and all(_largest(new) <= LARGER * _largest(old) for new, old in pairs)


def are_vast(expected: dict, base: dict) -> bool:
    """Is an answer near the end of float32's range, and none on the first inputs? In powers and products of many
    factors a kernel may pass that end where the reference, in another order, does not."""
    now, before = (max(map(_largest, floats(kind["native"])), default=0.0) for kind in (expected, base))
    return now > VAST >= before


def _largest(x) -> float:
    """Of a tensor's finite numbers."""
    return float(x.masked_fill(~x.isfinite(), 0).abs().max()) if x.numel() else 0.0


def are_mostly_finite(expected: dict, base: dict) -> bool:
    """Is no answer NaN that was none, and at most a quarter infinite that was finite?"""
    for now, before in zip(floats(expected["native"]), floats(base["native"]), strict=True):
        if now.shape != before.shape or bool((now.isnan() & ~before.isnan()).any()):
            return False
        if 4 * int((now.isinf() & before.isfinite()).sum()) > now.numel():
            return False
    return True
