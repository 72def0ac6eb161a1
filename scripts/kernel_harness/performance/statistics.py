"""What may be concluded from noisy times: medians, paired ratios with an exact interval, a verdict on a difference.

Everything here is plain Python on lists of floats, so that the process that judges needs no numerical library and
never imports a kernel file. Intervals are distribution-free: an order statistic brackets the median with a probability
that is counted, not assumed, so that clock ramps, outliers and two-humped samples cannot make one too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

CONFIDENCE = 0.99  # one report holds many intervals; at 95 % one in twenty would mislead its reader
MARGIN = 0.01  # differences under 1 % are called "same" once the interval proves that they are that small


class Difference(str, Enum):
    """How a new time stands to an old one."""

    FASTER = "faster"
    SAME = "same"
    SLOWER = "slower"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Summary:
    """A sample of times in microseconds."""

    median_us: float
    p10_us: float
    p90_us: float
    count: int

    @property
    def spread(self) -> float:
        """(p90 - p10) / median: how far single calls stray, as a fraction."""
        return (self.p90_us - self.p10_us) / self.median_us if self.median_us > 0 else math.inf


@dataclass(frozen=True)
class Ratio:
    """An estimated ratio of two times, and the interval that holds the true one with probability `confidence`."""

    estimate: float
    low: float
    high: float
    confidence: float
    pairs: int

    @property
    def half_width(self) -> float:
        """Half the interval as a fraction of the estimate."""
        return (self.high - self.low) / (2 * self.estimate)

    def inverse(self) -> Ratio:
        """The same knowledge read the other way round: baseline / candidate from candidate / baseline."""
        return Ratio(1 / self.estimate, 1 / self.high, 1 / self.low, self.confidence, self.pairs)


def quantile(sample: Sequence[float], fraction: float) -> float:
    """The value below which `fraction` of the sample lies, interpolated between neighbours."""
    if not sample:
        raise ValueError("A quantile needs at least one value.")
    ordered = sorted(sample)
    position = fraction * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def median(sample: Sequence[float]) -> float:
    """The middle value."""
    return quantile(sample, 0.5)


def summarize(sample_us: Sequence[float]) -> Summary:
    """Median, tenth and ninetieth percentile of times in microseconds."""
    return Summary(median(sample_us), quantile(sample_us, 0.1), quantile(sample_us, 0.9), len(sample_us))


def geometric_mean(values: Sequence[float]) -> float:
    """The mean of ratios: a case twice as fast and a case half as fast cancel out."""
    if not values or min(values) <= 0:
        raise ValueError("A geometric mean needs positive values.")
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def median_interval(sample: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """(low, high, attained confidence) around the median, from order statistics.

    The k-th smallest and k-th largest of n values miss the true median only if fewer than k values fall on one side
    of it, a binomial event with one half per value. The largest k that keeps the confidence is taken; a sample too
    small for it gives its whole range and says which confidence that is.
    """
    ordered = sorted(sample)
    count = len(ordered)
    if not count:
        raise ValueError("An interval needs at least one value.")
    tail, rank = 0.5**count, 1
    while rank < (count + 1) // 2:
        wider = tail + math.comb(count, rank) * 0.5**count
        if 1 - 2 * wider < confidence:
            break
        tail, rank = wider, rank + 1
    return ordered[rank - 1], ordered[count - rank], max(0.0, 1 - 2 * tail)


def paired_ratio(new: Sequence[float], old: Sequence[float], confidence: float = CONFIDENCE) -> Ratio:
    """new / old from times taken in the same rounds: drift that moves both members of a pair cancels."""
    if len(new) != len(old) or not new:
        raise ValueError("A paired ratio needs two samples of the same, non-zero length.")
    ratios = [a / b for a, b in zip(new, old, strict=True)]
    low, high, attained = median_interval(ratios, confidence)
    return Ratio(median(ratios), low, high, attained, len(ratios))


def unpaired_ratio(new: Sequence[float], old: Sequence[float], confidence: float = CONFIDENCE) -> Ratio:
    """new / old from two separate runs: both medians may err, so their intervals are combined at the worse end."""
    each = 1 - (1 - confidence) / 2
    new_low, new_high, new_confidence = median_interval(new, each)
    old_low, old_high, old_confidence = median_interval(old, each)
    attained = max(0.0, new_confidence + old_confidence - 1)
    return Ratio(median(new) / median(old), new_low / old_high, new_high / old_low, attained, min(len(new), len(old)))


def widen(ratio: Ratio, resolution: float) -> Ratio:
    """The interval, at least `resolution` (a fraction) to each side: what the method cannot resolve is not claimed."""
    low = min(ratio.low, ratio.estimate * (1 - resolution))
    high = max(ratio.high, ratio.estimate * (1 + resolution))
    return Ratio(ratio.estimate, low, high, ratio.confidence, ratio.pairs)


def classify(ratio: Ratio, margin: float = MARGIN) -> Difference:
    """Same, faster or slower only where the whole interval says so; a wide interval or a tiny sample cannot tell."""
    if ratio.confidence < 0.95:
        return Difference.CANNOT_TELL
    if 1 - margin <= ratio.low and ratio.high <= 1 + margin:
        return Difference.SAME
    if ratio.high < 1:
        return Difference.FASTER
    if ratio.low > 1:
        return Difference.SLOWER
    return Difference.CANNOT_TELL


def rotation(names: Sequence[str], rounds: int) -> list[list[str]]:
    """The order of each round: every name takes every place, and every odd round runs backwards.

    A fixed order would give one kernel the caches and clocks that its neighbour left behind in every single round.
    """
    orders = []
    for index in range(rounds):
        start = (index // 2) % len(names)
        order = [*names[start:], *names[:start]]
        orders.append(order[::-1] if index % 2 else order)
    return orders
