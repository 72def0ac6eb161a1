"""The JSON of a benchmark's cases, from what the contenders reported (standard library only)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from . import roofline, statistics
from .arena import Contender

COUNTS = ("input_bytes", "output_bytes", "bytes_moved", "bytes_are_counted", "flops")


def usual(burst: Mapping) -> list[float]:
    """The device times of a burst without the ambushed call, which found another cache state than the rest."""
    return [us for index, us in enumerate(burst["device_us"]) if index != burst["ambush"]]


def refused(name: str, kernel: Contender, gpu_state: dict | None) -> dict:
    """A case without numbers."""
    return {"name": name, "keywords": kernel.facts["keywords"], "shapes": kernel.facts["shapes"],
            "gpu_state": gpu_state, "contenders": []}


def of_case(name: str, contenders: Sequence[Contender], ceilings: roofline.Ceilings | None, aside: Mapping[str, dict],
            ratios: Mapping[str, statistics.Ratio], gpu_state: dict | None) -> dict:
    """A case with a time for every contender that lasted, and the speed-up against the best baseline."""
    kernel = contenders[0]
    document = refused(name, kernel, gpu_state)
    for contender in contenders:
        lost = {"name": contender.name, "lost": contender.lost}
        document["contenders"].append(lost if contender.lost else
                                      entry(contender, kernel.facts, ceilings) | aside[contender.name])
    if ratios:
        best = min(ratios, key=lambda baseline: ratios[baseline].estimate)
        document["speedup"] = {"against": best, **asdict(ratios[best])}
        document["speedups"] = {baseline: asdict(ratio) for baseline, ratio in ratios.items()}
    return document


def entry(contender: Contender, kernel_facts: Mapping, ceilings: roofline.Ceilings | None) -> dict:
    """One contender's times; bytes and operations are the kernel file's, the same for all."""
    facts, bursts = contender.facts, contender.bursts
    summary = statistics.summarize([us for burst in bursts for us in usual(burst)])
    counted = {key: kernel_facts[key] for key in COUNTS} | {"output_bytes": facts["output_bytes"]}
    events = [us for burst in bursts for us in burst["event_us"] if us is not None]
    return {"name": contender.name, "lost": None, **asdict(summary), "rounds_us": contender.rounds_us,
            "rounds": len(bursts), "samples_compared": contender.samples,
            "starved_bursts": sum(burst["starved"] for burst in bursts),
            "streams": max(burst["streams"] for burst in bursts),
            "launches": max(count for burst in bursts for count in burst["launches"]),
            "event_us": statistics.median(events) if events else None,
            "new_values_us": statistics.median([burst["device_us"][burst["ambush"]] for burst in bursts]),
            "import_s": contender.opened["import_s"], "sha256": contender.opened["sha256"],
            **{key: facts[key] for key in ("first_call_s", "method", "note", "rotation", "device")}, **counted,
            "roofline": roofline.place(summary.median_us, counted, ceilings).to_json() if ceilings else None}
