"""How many inputs, and how many products, an element of a result may be made of, as far as the shapes tell."""

from __future__ import annotations

import math

NARROW = ("float16", "bfloat16", "float8")  # beginnings of the dtypes whose products tensor cores add


def sizes(inputs: list[dict], total: int) -> dict[str, float]:
    """Of a result of ``total`` elements: ``terms``, elements of the inputs for each; ``length``, the most products of
    16-bit (or narrower) numbers that one may be the sum of, 0 for what is no such sum. Shapes do not tell which extent
    is contracted: it is the longest that may be. inputs: nodes of values.py."""
    narrow = [node["shape"] for node in inputs if node["dtype"].startswith(NARROW) and node["shape"]]
    matrices = [shape for shape in narrow if len(shape) > 1]
    by_element = len(matrices) < 2 and all(math.prod(shape) <= total for shape in narrow)
    length = 0 if by_element else max((max(shape[-2:]) for shape in narrow), default=0)
    return {"terms": sum(math.prod(node["shape"]) for node in inputs) / max(1, total), "length": length}
