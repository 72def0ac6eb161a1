"""How many inputs, and how many products, an element of a result may be made of, as far as the shapes tell; and how far
off the sum of so many may be."""

from __future__ import annotations

import math

NARROW = ("float16", "bfloat16", "float8")  # beginnings of the dtypes whose products tensor cores add


def sizes(inputs: list[dict], total: int) -> dict[str, float]:
    """Of a result of ``total`` elements: ``terms``, elements of the inputs for each; ``length``, the most products of
    16-bit (or narrower) numbers that one may be the sum of, 0 for what is no such sum; ``is_float8``: of 8 bits, both.
    Shapes do not tell which extent is contracted: it is the longest that may be. inputs: nodes of values.py."""
    eight = sum(node["dtype"].startswith("float8") for node in inputs)
    narrow = [node["shape"] for node in inputs if node["dtype"].startswith(NARROW) and node["shape"]]
    matrices = [shape for shape in narrow if len(shape) > 1]
    by_element = len(matrices) < 2 and all(math.prod(shape) <= total for shape in narrow)
    length = 0 if by_element else max((max(shape[-2:]) for shape in narrow), default=0)
    terms = sum(math.prod(node["shape"]) for node in inputs) / max(1, total)
    return {"terms": terms, "length": length, "is_float8": eight > 1 and length > 0}


def roundings(terms: float, length: int, is_float8: bool, eps: float) -> float:
    """By how many ``eps``, the spacing of the result's dtype, a right result may be off.

    A loop over positive terms strays by 0.15 sqrt(terms) eps; PyTorch adds in a tree. Tensor cores cut sums off: over K
    products of bfloat16 they are K / 120 eps short (results/h200-2026-11-22-3145e8b-verification.json). Of float8 they
    keep about 14 bits (references/numerics.md): a product whose parts of 64 were added in float32 was up to 5.8e-5 off
    (results/h200-2026-11-23-a708367-verification.json).
    """
    cut_off = min(length / 32 * 2.0**-14, 2.0**-10) / eps if is_float8 else 0.0
    if eps > 1e-6:
        return 1.0 + cut_off
    return max(min(max(16.0, math.sqrt(terms) / 2), 48.0), min(length / 32, 512.0), cut_off)
