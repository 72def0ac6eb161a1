"""Which case of a file meets every trial.

By the bytes of its inputs: a case below SWIFT_BYTES meets hostile values anyway, and one above takes a third of a
second for each of a hundred trials. Where a file has none between, those are taken that are neither tiny nor large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

SWIFT_BYTES = 2**21, 2**23
FEW_BYTES, THOROUGH_BYTES = 2**15, 2**26


def thorough(cases: Sequence[str], nbytes: Callable[[Sequence[str]], Sequence[int]]) -> str:
    """The first case where it is of such a size or small, else the largest that is; nbytes: of the inputs of cases."""
    if nbytes(cases[:1])[0] <= SWIFT_BYTES[1]:
        return cases[0]
    sizes = nbytes(cases)
    for fewest, most in (SWIFT_BYTES, (FEW_BYTES, THOROUGH_BYTES)):
        fitting = {size: case for size, case in zip(sizes, cases, strict=True) if fewest <= size <= most}
        if sizes[0] in fitting:
            return cases[0]
        if fitting:
            return fitting[max(fitting)]
    return cases[0]
