"""What a contender's bursts say against its time: cheats, wrong results, clocks that disagree (standard library only).

Only behaviour counts. Source that looks odd is nobody's business here; work that runs outside the timed call is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..verdict import ExitCode
from .statistics import median

OVERHANG_US = 3.0      # timestamps of two engines may differ by a little; deferred work differs by its length
CLOCK_GAP_US = 25.0    # events cost 2 to 4 us around a call on an H200
UNEVEN = 1.25          # mean over median of a kernel that does the same work in every call


@dataclass(frozen=True)
class Charge:
    """One finding against a time: the exit code it leads to, and a sentence."""

    code: ExitCode
    sentence: str


def charges(name: str, bursts: Sequence[Mapping], output_bytes: int, method: str) -> list[Charge]:
    """Everything that the bursts of contender ``name`` say against its time; empty for an honest one."""
    calls = sum(len(burst["device_us"]) for burst in bursts)
    shared = any(burst["shared_outputs"] for burst in bursts)
    found = [
        (ExitCode.CHEATING, _lazy(bursts)),
        (ExitCode.CHEATING, _patched(bursts)),
        (ExitCode.CHEATING, _persisting(bursts)),
        (ExitCode.CHEATING, _idle(bursts, calls) if output_bytes and method == "cupti" else None),
        (ExitCode.CHEATING, _overhang(bursts, calls)),
        (ExitCode.CHEATING, None if shared else _deferred(bursts, calls)),
        (ExitCode.WRONG_RESULT, SHARED if shared else None),
        (ExitCode.CHEATING, _uneven(bursts)),
    ]
    if not any(sentence for _, sentence in found) and method == "cupti":
        found.append((ExitCode.UNDECIDED, _clocks_apart(bursts)))
    return [Charge(code, f"{name}: {sentence}") for code, sentence in found if sentence]


SHARED = ("two calls returned the same memory, so that the second destroyed the first one's result: allocate the "
          "output in every call")


def _lazy(bursts: Sequence[Mapping]) -> str | None:
    kinds = sorted({kind for burst in bursts for kind in burst["lazy"]})
    if not kinds:
        return None
    return (f"it returns {', '.join(kinds)} instead of torch.Tensor: such a result can be computed when it is read, "
            "after the clock has stopped")


def _patched(bursts: Sequence[Mapping]) -> str | None:
    clocks = sorted({clock for burst in bursts for clock in burst["patched_clocks"]})
    return f"it replaced {', '.join(clocks)}: a kernel has no business with the clocks" if clocks else None


def _persisting(bursts: Sequence[Mapping]) -> str | None:
    size = max(burst["persisting_l2_bytes"] for burst in bursts)
    if not size:
        return None
    return (f"it set {size:,} bytes of the L2 aside for persisting data: its operands would stay cached between calls "
            "that are meant to find a cold cache")


def _idle(bursts: Sequence[Mapping], calls: int) -> str | None:
    idle = sum(count == 0 for burst in bursts for count in burst["launches"])
    if not idle:
        return None
    return (f"{idle} of {calls} timed calls put no work on the device: an empty graph, or an answer kept from an "
            "earlier call")


def _overhang(bursts: Sequence[Mapping], calls: int) -> str | None:
    late = [us for burst in bursts for us in burst["overhang_us"] if us > OVERHANG_US]
    if not late:
        return None
    return (f"in {len(late)} of {calls} calls its work ran on for up to {max(late):.1f} us after the end of the call "
            "on the caller's stream: join side streams before returning "
            "(torch.cuda.current_stream().wait_stream(side))")


def _deferred(bursts: Sequence[Mapping], calls: int) -> str | None:
    changed = sum(len(burst["changed_later"]) for burst in bursts)
    if not changed:
        return None
    return (f"the outputs of {changed} of {calls} calls changed after the call: work was put off past the stop of the "
            "clock")


def _uneven(bursts: Sequence[Mapping]) -> str | None:
    times = [us for burst in bursts for us in burst["device_us"]]
    mean, middle = sum(times) / len(times), median(times)
    if mean <= UNEVEN * middle or all(len(set(burst["launch_ids"])) == 1 for burst in bursts):
        return None
    return (f"its calls differ in what they launch: they take {mean:.1f} us in the mean and {middle:.1f} us in the "
            "median, so some calls do the work of others")


def _clocks_apart(bursts: Sequence[Mapping]) -> str | None:
    pairs = [pair for burst in bursts if not burst["starved"]
             for pair in zip(burst["event_us"], burst["device_us"], strict=True)]
    if not pairs:
        return None
    gap = median([event - device for event, device in pairs])
    if gap <= max(CLOCK_GAP_US, 0.5 * median([device for _, device in pairs])):
        return None
    return (f"its clocks disagree: CUDA events read {gap:.1f} us more than the device's own records, so part of its "
            "work is hidden from one of them")


def replayed(name: str, bursts: Sequence[Mapping], honest: Sequence[Mapping]) -> list[Charge]:
    """A charge when most new inputs gave the old outputs bit for bit, and the reference's outputs did change."""
    seen = sum(burst["replayed"] for burst in bursts)
    if 2 * seen > len(bursts) and not any(burst["replayed"] for burst in honest):
        return [Charge(ExitCode.CHEATING, f"{name}: in {seen} of {len(bursts)} bursts new values in the same storage "
                                          "gave the old output bit for bit: results are replayed, not computed")]
    return []


def wrong_sample(name: str, sentence: str, before_timing: bool, was_replayed: bool) -> Charge:
    """The charge for an output that failed the comparison with the reference."""
    if was_replayed:
        return Charge(ExitCode.CHEATING, f"{name}: a timed call on new values in the same storage returned the output "
                                         f"of the old ones; {sentence}")
    when = "before timing" if before_timing else "in a timed call"
    return Charge(ExitCode.WRONG_RESULT, f"{name} is wrong {when}: {sentence}")
