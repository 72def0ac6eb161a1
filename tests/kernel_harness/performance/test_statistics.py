"""The statistics keep their promises on synthetic samples whose truth is known."""

import math
import random

import pytest
from kernel_harness.performance.statistics import (
    Difference,
    Ratio,
    classify,
    geometric_mean,
    median,
    median_interval,
    paired_ratio,
    quantile,
    rotation,
    summarize,
    unpaired_ratio,
    widen,
)

pytestmark = pytest.mark.cpu


def noisy_times(generator, rounds, true_us, drift):
    """Round medians as a GPU gives them: common drift, 0.4 % jitter of its own, now and then an outlier."""
    times = []
    for shared in drift:
        jitter = generator.gauss(0, 0.004)
        outlier = 0.15 if generator.random() < 0.03 else 0.0
        times.append(true_us * shared * (1 + jitter + outlier))
    return times


def pair(generator, slow_down, rounds=24):
    """Two samples of the same rounds, the second `slow_down` times as slow."""
    drift = [1 + 0.03 * math.sin(index / 5) + generator.gauss(0, 0.01) for index in range(rounds)]
    return noisy_times(generator, rounds, 50 * slow_down, drift), noisy_times(generator, rounds, 50, drift)


def test_median_and_quantiles_interpolate():
    assert median([3, 1, 2]) == 2
    assert median([1, 2, 3, 4]) == 2.5
    assert quantile([0, 10], 0.1) == 1
    summary = summarize([float(value) for value in range(101)])
    assert (summary.median_us, summary.p10_us, summary.p90_us, summary.count) == (50, 10, 90, 101)
    assert summary.spread == pytest.approx(1.6)


def test_interval_ranks_are_the_textbook_ones():
    low, high, confidence = median_interval(list(range(1, 21)), 0.95)
    assert (low, high) == (6, 15)
    assert confidence == pytest.approx(0.9586, abs=1e-4)


def test_a_small_sample_admits_its_confidence():
    low, high, confidence = median_interval([1.0, 2.0, 3.0, 4.0])
    assert (low, high) == (1.0, 4.0)
    assert confidence == pytest.approx(1 - 2 / 16)
    assert classify(paired_ratio([2.0] * 4, [1.0] * 4)) is Difference.CANNOT_TELL


def test_one_value_proves_nothing():
    assert median_interval([5.0]) == (5.0, 5.0, 0.0)


def test_equal_kernels_are_found_equal_in_95_of_100_trials():
    generator = random.Random(4)
    inside = 0
    for _ in range(100):
        ratio = paired_ratio(*pair(generator, 1.0))
        inside += ratio.low <= 1 <= ratio.high
        assert ratio.half_width < 0.01
    assert inside >= 95


def test_two_percent_is_found_in_9_of_10_runs():
    generator = random.Random(5)
    verdicts = [classify(paired_ratio(*pair(generator, 1.02))) for _ in range(100)]
    assert verdicts.count(Difference.SLOWER) >= 90
    assert Difference.FASTER not in verdicts


def test_pairing_cancels_drift_that_defeats_separate_runs():
    generator = random.Random(6)
    new, old = pair(generator, 1.02)
    assert paired_ratio(new, old).half_width < unpaired_ratio(new, old).half_width


def test_classification_covers_each_verdict():
    def verdict(low, high):
        return classify(Ratio((low + high) / 2, low, high, 0.99, 20))

    assert verdict(0.995, 1.004) is Difference.SAME
    assert verdict(1.001, 1.004) is Difference.SAME
    assert verdict(1.005, 1.03) is Difference.SLOWER
    assert verdict(0.95, 0.99) is Difference.FASTER
    assert verdict(0.97, 1.02) is Difference.CANNOT_TELL


def test_inverse_turns_the_interval_round():
    speedup = Ratio(0.5, 0.4, 0.8, 0.99, 9).inverse()
    assert (speedup.estimate, speedup.low, speedup.high) == (2.0, 1.25, 2.5)


def test_widen_never_narrows():
    ratio = widen(Ratio(1.0, 0.99, 1.001, 0.99, 9), 0.005)
    assert (ratio.low, ratio.high) == (0.99, 1.005)


def test_geometric_mean_cancels_reciprocals():
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1)
    with pytest.raises(ValueError, match="positive"):
        geometric_mean([1.0, 0.0])


def test_rotation_gives_every_name_every_place():
    orders = rotation(["a", "b", "c"], 6)
    assert orders[0] == ["a", "b", "c"]
    assert orders[1] == ["c", "b", "a"]
    for place in range(3):
        assert {order[place] for order in orders} == {"a", "b", "c"}
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)


def test_empty_samples_are_refused():
    for function in (median, median_interval):
        with pytest.raises(ValueError, match="at least one"):
            function([])
    with pytest.raises(ValueError, match="same, non-zero length"):
        paired_ratio([1.0], [])
