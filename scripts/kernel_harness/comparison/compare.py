"""The acceptance rule: is a result as good as PyTorch's own in the same precision, and if not, where and why.

For each group of elements of the output (below) one of them, ``y``, passes against the golden value ``g`` (reference_fn
in float64) when

    |y - g| <= 2 E + r eps (|g| + rms) + 64 S

E    largest error in the group of the reference in the kernel's own precision: being twice as far off is still fine
eps  spacing of the output dtype at 1; r is 1 up to 16 bits, 16 in float32 and 2^14 in float64; up to 48 where an
     element is made from so many inputs that adding them in turn takes more, and up to 512 by tensor cores; rms is that
     of the golden group
S    how far the group moves when every input moves by one float32 rounding (conditioning: sums that cancel, means of
     constant rows), so that an honest change of summation order passes and TF32 in place of float32 does not

A group is a row (the last dimension). Rows shorter than 16 are one group together, but for small columns (a deviation
beside a mean): one whose rms is less than 1/16 of the largest column's is its own group, in tensors of real numbers
with 16 rows or more whose S is known. One below 2^-20 of the largest is none: rounding may leave that of the others.
A row of zeros, in which terms of the other rows' size may cancel, may be 16 roundings of float32 of a median row off.

Up to 16 bits one element in a million, or one of 4096 and more, may be up to 1.5 times as far off: the largest of many.
The root mean square of the whole error obeys the same rule with 32 in place of 64. With values that no file meant
(``conditioned``) S counts the rounding of every intermediate value as well, and up to 16 bits the kernel may keep
intermediates in the output's format: 64 becomes the two roundings of that format. What the algorithm decides (S; in
float32 all of the bound) may then be eight times as large, for other intermediates than the reference's. Small elements
must not hide behind the largest of their row either: few may lose all their digits where neither the reference nor
conditioning does; what float64 rounds away of the largest input (vanishing) is none. Eight-bit floats that differ must
not nearly all lie on one side (leaning.py). NaN, +inf and -inf must be where the reference has them; integers and
booleans are exact. Everything works on chunks: memory stays bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import torch

from . import contraction, flushed, leaning
from .diagnosis import explain_loss, explain_precision, flattened, locate, real
from .row_scale import RowScale, ShortRowScale, are_finite

CHUNK_ELEMENTS = 1 << 22  # 32 MiB in float64
RESIDENT_BYTES = 1 << 30  # of a comparison on the GPU; larger ones cross over chunk by chunk, twice
DEVIATION_ELEMENTS = 1 << 18  # enough to see a reference that computes something else in float64
TIES = 1e-3  # share of integers on which precisions may disagree by chance
ROW_MIN = 16  # shorter rows have no statistics of their own
REFERENCE_FACTOR = 2.0  # FlashAttention's tests accept twice the error of PyTorch in the same dtype
FEW = 2.0  # 40,000 results of up to 64 bfloat16 elements, three roundings each: 1.9 of the bound for many, at most
MANY, STRAYS, STRAY = 4096, 1e-6, 1.5  # of so many 16-bit elements a few lie further out: share, times the bound
SENSITIVITY = 64.0  # float32 roundings; half of it for the root mean square
CONDITIONED_SLACK = 8.0  # another algorithm may be that much worse conditioned on values that nobody meant
UNMEASURED_SLACK = 32.0  # where that is all there is
COARSEST_INTERMEDIATE = 2.0**-7  # spacing of bfloat16
DOUBLE = 2.0**-38  # of float64: a reference that computes with angles of hundreds is off by dozens of roundings
HALF_TINY = 2.0**-20  # sixteen steps of its denormals, which no GPU flushes
TIPPED_SLACK = 1.5  # of a step that the reference may take
COUNTS_TIPPED = 8  # of a bin of a histogram, at most
CODES_TIPPED = 2.0**-7  # share of elements, at most, that are one code in place of another
COUNTED = 8  # inputs of an element, at least, for it to be such a bin and no code or index
LOST, SOUND = 0.25, 1 / 64  # relative errors: no digit is right; the reference and the conditioning promise some
NOISE = 2.0**-48  # of a row: what a reference in float64 leaves of a zero
LOST_SHARE = {1e-6: 1 / 64, 1.0: 1 / 8}  # share of elements that may be lost, by the spacing of their format
FILE_TOLERANCE_CEILING = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 2e-2}


@dataclass(frozen=True)
class Tolerance:
    """``|y - g| <= atol + rtol |g|``, given by the user (or by the file, up to the ceiling of the dtype)."""

    rtol: float
    atol: float
    rms: float | None = None  # for a file's TOLERANCE: the largest relative rms error, so that no bias hides in it
    or_rule: bool = False  # what the rule accepts passes, too: asked to be looser than the rule, it is never tighter


@dataclass
class Comparison:
    """What comparing one tensor said. Counts are of elements; errors are absolute, in the output's own unit."""

    path: str
    dtype: str
    shape: list[int]
    total: int
    wrong: int = 0
    first_index: list[int] | None = None
    kernel_value: float | int | None = None
    reference_value: float | int | None = None
    max_error: float = 0.0
    max_relative_error: float = 0.0
    rms_error: float = 0.0
    rms_reference_error: float = 0.0
    rms_golden: float = 0.0
    budget_used: float = 0.0  # 1.0 is the most that passes
    terms: float = 1.0  # elements of the inputs per element of the output
    wrong_class: int = 0  # NaN or infinity where the reference has none, or the other way round
    is_one_code: bool = False  # a few elements of eight bits are wrong, all of them in the same way
    where: str = ""
    causes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.wrong == 0 and self.budget_used <= 1.0

    @property
    def may_be_tipped(self) -> bool:
        """Is one code in place of another, or are integers off by little, as a histogram is whose values fall on either
        side of a bound?"""
        is_count = self.dtype in ("int32", "int64") and self.terms >= COUNTED and self.max_error <= COUNTS_TIPPED
        return is_count or self.is_one_code

    def to_json(self) -> dict:
        return {**self.__dict__, "passed": self.passed}


@dataclass(frozen=True)
class Expected:
    """One output tensor's anchors, equal in shape. native: the reference in the kernel's precision; golden: in float64
    (or the best precision that ran), None where the output is not floating; moved: golden on inputs that moved by one
    float32 rounding, None where that was not computed."""

    native: torch.Tensor
    golden: torch.Tensor | None = None
    moved: torch.Tensor | None = None
    terms: float = 1.0  # elements of the inputs per element of the output
    length: int = 0  # products that tensor cores may add for an element (contraction.py)
    is_float8: bool = False  # of float8 numbers
    vanishing: float = 0.0  # what is nothing beside the inputs, of values that no file meant


def compare(
    path: str,
    result: torch.Tensor,
    expected: Expected,
    tolerance: Tolerance | None = None,
    device: str = "cpu",
    conditioned: bool = False,
    explain: bool = True,
) -> Comparison:
    """Judge ``result`` (same shape and dtype as ``expected.native``); work happens on ``device`` in bounded memory.

    explain: where the result is wrong, say where and why.
    conditioned: ``expected.moved`` is of a run in which every intermediate value moved, too (roundings.py).
    """
    dtype = str(result.dtype).removeprefix("torch.")
    outcome = Comparison(path, dtype, list(result.shape), result.numel(), terms=expected.terms)
    if result.numel() == 0:
        return outcome
    e8m0 = getattr(torch, "float8_e8m0fnu", None)
    if result.dtype is e8m0:  # no mantissa: a power of two is right or wrong, as a code is
        anchors = (expected.native, expected.golden, expected.moved)
        result, *anchors = (t.view(torch.uint8) if t is not None and t.dtype is e8m0 else t for t in (result, *anchors))
        expected = replace(expected, native=anchors[0], golden=anchors[1], moved=anchors[2])
    floating = result.dtype.is_floating_point or result.dtype.is_complex
    rule = (tolerance, device, conditioned) if floating else (device,)
    wrong_map = (_compare_floating if floating else _compare_exact)(outcome, result, expected, *rule)
    if outcome.passed and tolerance is None and not conditioned:
        anchors = outcome, result, expected.native, expected.golden
        wrong_map = flushed.find(*anchors) or leaning.find(*anchors) or wrong_map
    if 0 < outcome.wrong <= CODES_TIPPED * outcome.total and result.dtype.itemsize == 1:
        outcome.is_one_code = _is_one_code(result, expected.native, wrong_map)
    if outcome.wrong and explain:
        locate(outcome, result, expected.native, wrong_map)
    return outcome


def _is_one_code(result: torch.Tensor, native: torch.Tensor, wrong_map: Callable[[], Iterator]) -> bool:
    """Of data of 16 bits many elements have the value that lies on a tie, or its opposite: one place was decided."""
    wrong = torch.cat([part.flatten().cpu() for _, part in wrong_map()])
    y, n = (flattened(t).view(torch.uint8)[wrong].to(torch.int64) for t in (result, native))
    return result.dtype is not torch.bool and len((256 * y + n).unique()) <= 2


def forgiven(result: torch.Tensor, expected: Expected, tipped: torch.Tensor) -> torch.Tensor:
    """``result`` with the reference's value where that is hardly farther off than ``tipped``, the farthest that the
    reference went when its steps moved by a few roundings."""
    y, native, far = (real(t) for t in (result, expected.native, tipped))
    golden = real(expected.golden) if expected.golden is not None else native
    if y.dtype.is_floating_point:
        wide_y, exact, wide_far = (t.to(torch.float64) for t in (y, golden, far))
        decided = (wide_y - exact).abs() <= TIPPED_SLACK * (wide_far - exact).abs()
    else:  # another index, or code, is right only as it came; a count as far as it went
        wide_y, near, exact, wide_far = (t.to(torch.int64) for t in (y, native, golden, far))
        reached = torch.maximum((wide_far - near).abs(), (exact - near).abs())
        is_kept = reached.le(COUNTS_TIPPED) | (wide_y.sum() == near.sum())  # what left one bin is in another
        beside = ((wide_y - near).abs() <= reached.clamp(max=COUNTS_TIPPED)) & is_kept
        decided = (wide_y == wide_far) | (wide_y == exact) | beside
    merged = torch.where(decided, native, y)
    return torch.view_as_complex(merged) if result.dtype.is_complex else merged


def _compare_exact(outcome: Comparison, result, expected, device) -> Callable[[], Iterator]:
    """Integers and booleans: exact. Where the reference's own precisions disagree (a quantiser's rounding, an argmax of
    near ties) each of their answers is right, and one step beside as often as they disagree."""
    others = [t for t in (expected.golden, expected.moved) if t is not None and t.dtype == result.dtype]
    # Inputs that lie on ties move to either side everywhere: then the rule for ties is what is asked for.
    others = [t for t in others if int((expected.native != t).sum()) <= TIES * result.numel()]
    pairs = [flattened(t) for t in (result, expected.native, *others)]
    disagreements = steps = 0

    def wrong_chunks(spare_steps: bool = False):
        for start, (y, *answers) in _chunks(pairs, device):
            wrong = torch.ones_like(y, dtype=torch.bool)
            for answer in answers:
                wrong &= y != answer
            if spare_steps:
                wrong &= (y.to(torch.float64) - answers[0].to(torch.float64)).abs() > 1
            yield start, wrong

    for _, (y, native, *rest) in _chunks(pairs, device):
        difference = (y.to(torch.float64) - native.to(torch.float64)).abs()
        outcome.max_error = max(outcome.max_error, difference.max().item())
        disagreements += sum(int((native != other).sum()) for other in rest)
        steps += int((difference == 1).sum())
    # An 8-bit quantiser may meet a tie that the reference's own runs did not meet, once in 100,000; chance adds.
    met = 1e-5 * result.numel()
    is_code = result.dtype in (torch.int8, torch.uint8) and int(expected.native.max()) - int(expected.native.min()) > 1
    quantised = 1 + 2 * met + 4 * math.sqrt(met) if is_code else 0
    spare = result.dtype is not torch.bool and 0 < steps <= max(4 * disagreements, quantised)
    for _, wrong in wrong_chunks(spare):
        outcome.wrong += int(wrong.sum())
    outcome.budget_used = math.inf if outcome.wrong else 0.0
    return lambda: wrong_chunks(spare)


def _compare_floating(outcome: Comparison, result, expected, tolerance, device, conditioned) -> Callable[[], Iterator]:
    dtype = result.dtype
    eps = torch.finfo(dtype).eps
    golden = expected.golden if expected.golden is not None else expected.native
    moved = expected.moved if expected.moved is not None else golden
    tensors = [real(t) for t in (result, golden, expected.native, moved)]
    shape = tensors[0].shape
    columns = shape[-1] if len(shape) > 1 and ROW_MIN <= shape[-1] <= CHUNK_ELEMENTS else math.prod(shape)
    lines = [flattened(t) for t in tensors]
    if device != "cpu" and sum(t.nbytes for t in lines) <= RESIDENT_BYTES:
        lines = [t.to(device) for t in lines]  # both passes read them
    rounding = contraction.roundings(expected.terms, expected.length, expected.is_float8, eps)
    if eps < DOUBLE:  # no golden answer is better than the reference's own
        rounding = max(rounding, DOUBLE / eps)
    # Without a golden anchor the reference's own error is unknown: twice a kernel's stands for it, or one rounding.
    unknown = (2 * rounding if eps <= 1e-6 else 1.0) * eps if expected.golden is None else 0.0
    unmeasured = expected.moved is None  # the reference does not run in float64: nothing says how it is conditioned
    slack = (UNMEASURED_SLACK if unmeasured else CONDITIONED_SLACK) if conditioned else 1.0
    coarse = slack if eps <= 1e-6 or unmeasured else 1.0  # up to 16 bits the floor is the rounding of the output
    sensitivity = max(SENSITIVITY, 2 * min(eps, COARSEST_INTERMEDIATE) * 2**24 if conditioned and eps > 1e-6 else 0.0)
    rows_per_chunk = max(1, CHUNK_ELEMENTS // columns)
    short = len(shape) > 1 and 1 < shape[-1] < ROW_MIN <= columns // shape[-1] and not (unmeasured or dtype.is_complex)
    width = shape[-1] if short else 1
    step = rows_per_chunk * columns if columns <= CHUNK_ELEMENTS else CHUNK_ELEMENTS // width * width
    scale = ShortRowScale(columns, width, device) if short else RowScale(lines[0].numel() // columns, columns, device)
    for start, chunk in _chunks(lines, device, step):
        scale.add(start, *(c.to(torch.float64) for c in chunk[1:]))
    scale.finish()
    tiny = max(HALF_TINY if dtype is torch.float16 else torch.finfo(dtype).tiny, expected.vanishing)

    def judged():
        for start, chunk in _chunks(lines, device, step):
            row_rms, row_reference, row_moved = scale.of(start, len(chunk[0]))
            y, g, n, m = (c.to(torch.float64).view(len(row_rms), -1) for c in chunk)
            finite, same_class = _classes(y, g, n, dtype)
            error = torch.where(finite, (y - g).abs(), 0.0)
            floor = REFERENCE_FACTOR * row_reference + (rounding * eps + unknown) * (g.abs() + row_rms)
            bound = coarse * floor + slack * (sensitivity * row_moved + tiny)
            if tolerance is not None:
                asked = tolerance.atol + tolerance.rtol * g.abs()
                bound = torch.maximum(bound, asked) if tolerance.or_rule else asked
            wrong = (finite & (error > bound)) | (~finite & ~same_class)
            unsure = torch.where(n == g, NOISE * row_rms, (n - g).abs()).maximum(SENSITIVITY * (m - g).abs())
            lost = ~wrong & finite & (unsure < SOUND * g.abs()) & (error > LOST * g.abs()) & (g.abs() > tiny)
            yield start, wrong.flatten(), lost.flatten(), g, n, finite, same_class, error, bound

    # Read once at the end: a GPU that other processes use takes milliseconds to answer.
    sums, largest = (torch.zeros(n, dtype=torch.float64, device=device) for n in (7, 3))
    for _, wrong, lost, g, n, finite, same_class, error, bound in judged():
        kept = (error, torch.where(finite, n - g, 0.0), torch.where(finite, g, 0.0))
        counts = (wrong, lost, ~finite & ~same_class, finite)
        sums += torch.stack([t.sum() for t in counts] + [values.abs().square().sum() for values in kept])
        relative = torch.where(finite & (g != 0), error / g.abs().clamp_min(tiny), 0.0)
        used = torch.where(error > 0, error / bound, 0.0)
        largest = largest.fmax(torch.stack([error.max(), relative.max(), used.max()]))
    *numbers, outcome.max_error, outcome.max_relative_error, outcome.budget_used = torch.cat((sums, largest)).tolist()
    outcome.wrong, lost_count, outcome.wrong_class, count = map(int, numbers[:4])
    roots = (math.sqrt(value / max(count, 1)) for value in numbers[4:])
    outcome.rms_error, outcome.rms_reference_error, outcome.rms_golden = roots
    chance = 1 + FEW / math.sqrt(max(count, 1))  # a few roundings may all be large
    spacing = 0.5 * chance * rounding * eps + unknown
    floor = REFERENCE_FACTOR * outcome.rms_reference_error + spacing * outcome.rms_golden
    limit = coarse * floor + slack * (0.5 * sensitivity * scale.rms_moved + tiny)
    if tolerance is None:
        strays = max(1, STRAYS * count) if eps > 1e-6 and count >= MANY else 0
        if outcome.wrong <= strays and outcome.budget_used <= STRAY and not outcome.wrong_class:
            outcome.wrong, outcome.budget_used = 0, min(outcome.budget_used, 1.0)
        outcome.budget_used = max(outcome.budget_used, outcome.rms_error / limit)
        if outcome.budget_used > 1.0 and not outcome.wrong:
            outcome.wrong = outcome.total  # no single element stands out: the whole tensor is too imprecise
            explain_precision(outcome, dtype)
            return lambda: ((start, torch.ones_like(row[0], dtype=torch.bool)) for start, *row in judged())
        share = next(share for limit, share in LOST_SHARE.items() if eps <= limit)
        if not conditioned and dtype.itemsize > 1 and lost_count > max(1, share * count):
            explain_loss(outcome, lost_count, max(1, int(share * count)))
            return lambda: ((start, wrong | lost) for start, wrong, lost, *_ in judged())
    elif tolerance.rms is not None:
        limit = max(limit * tolerance.or_rule, tolerance.rms * outcome.rms_golden + tolerance.atol + tiny)
        outcome.budget_used = max(outcome.budget_used, outcome.rms_error / limit)
        if outcome.budget_used > 1.0 and not outcome.wrong:
            outcome.wrong = outcome.total
            return lambda: ((start, torch.ones_like(row[0], dtype=torch.bool)) for start, *row in judged())
    outcome.budget_used = math.inf if outcome.wrong_class else outcome.budget_used
    if outcome.wrong and tolerance is None:
        explain_precision(outcome, dtype)
    return lambda: ((start, wrong) for start, wrong, *_ in judged())


def _classes(y: torch.Tensor, golden: torch.Tensor, native: torch.Tensor, dtype: torch.dtype):
    """(where all three are finite, where ``y`` is of a right class: finite, NaN, plus or minus infinity)."""
    if are_finite(y, golden, native):
        everywhere = torch.ones((), dtype=torch.bool).expand_as(y)
        return everywhere, everywhere
    finite = torch.isfinite(y) & torch.isfinite(golden) & torch.isfinite(native)
    rounded = golden.to(dtype).to(torch.float64) if not dtype.is_complex else golden
    return finite, _same_class(y, native) | _same_class(y, rounded)


def _same_class(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (
        (torch.isnan(a) & torch.isnan(b))
        | (torch.isposinf(a) & torch.isposinf(b))
        | (torch.isneginf(a) & torch.isneginf(b))
        | (torch.isfinite(a) & torch.isfinite(b))
    )


def _chunks(lines: list[torch.Tensor], device: str, step: int = CHUNK_ELEMENTS):
    for start in range(0, lines[0].numel(), step):
        yield start, [t[start : start + step].to(device) for t in lines]


def clipped_file_tolerance(tolerance: dict | None, dtype: torch.dtype, scale: float) -> Tolerance | None:
    """The file's TOLERANCE, or where it is looser the ceiling of ``dtype`` (or_rule). ``scale``: rms of golden."""
    if tolerance is None or not (dtype.is_floating_point or dtype.is_complex):
        return None
    ceiling = FILE_TOLERANCE_CEILING.get(dtype, 0.25)
    rtol, atol = min(tolerance["rtol"], ceiling), min(tolerance["atol"], ceiling * max(scale, 1e-30))
    return Tolerance(rtol, atol, ceiling / 4, or_rule=(rtol, atol) != (tolerance["rtol"], tolerance["atol"]))


def reference_deviation(native: torch.Tensor, golden: torch.Tensor, moved: torch.Tensor | None) -> float:
    """Share of elements where the reference's own precisions disagree by far more than rounding and conditioning.

    A reference that computes one thing in float64 and another in the kernel's dtype would vouch for either.
    """
    if not native.dtype.is_floating_point or native.numel() == 0:
        return 0.0
    limit = (1e-3 if native.numel() >= ROW_MIN else 2.0**-4) if torch.finfo(native.dtype).eps < 1e-6 else 0.25
    step = native.numel() // DEVIATION_ELEMENTS | 1  # odd: no power of two of columns hides any
    n, g, m = (flattened(t)[::step].to(torch.float64) for t in (native, golden, golden if moved is None else moved))
    valid = torch.isfinite(n) & torch.isfinite(g) & torch.isfinite(m)
    n, g, m = (torch.where(valid, t, 0.0) for t in (n, g, m))
    count = valid.sum().clamp_min(1)
    floor = 4 * torch.finfo(native.dtype).tiny  # intermediate values of that size have lost their digits
    rms = (g.square().sum() / count).sqrt()
    far = (n - g).abs() > limit * (g.abs() + rms) + 1e3 * (m - g).abs().max() + floor
    return float((far & valid).sum() / count)
