"""The judge of benchmark_kernel.py: plans the rounds and computes every statistic (standard library only).

Each round asks every contender for one burst of calls, in rotating and reversed order, so that the times of a pair
share their minute of the machine's life. Before the clock counts, in a round that nobody can foresee, and in the last
one, all get the same unseen inputs and their outputs are compared in full with the reference's.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import environment
from ..cli import no_such_case
from ..verdict import ExitCode
from . import benchmark_document, evidence, gpu_state, roofline, statistics
from .arena import Arena, Contender, Stopped
from .evidence import Charge

FEWEST_ROUNDS, ENOUGH_ROUNDS, MOST_ROUNDS = 8, 24, 60
MEMORY_FOLDER_BYTES = 16 << 30
AHEAD_BYTES = 256 << 20
NARROW = 0.0075  # a ratio known this well needs no further round


@dataclass(frozen=True)
class Settings:
    """What to time. against: "eager", "torch.compile" or paths; budget_s: of timing for each case."""

    file: Path
    against: Sequence[str] = ("eager", "torch.compile")
    cases: Sequence[str] = ()
    budget_s: float = 3.0
    timeout_s: float = 300.0
    method: str | None = None


def run(settings: Settings, progress: Callable[[str], None] = lambda _: None) -> dict:
    """The document of a benchmark. Raises ContractError, UsageError, UndecidedError; findings are in the document."""
    with tempfile.TemporaryDirectory(prefix="benchmark-", dir=memory_folder()) as folder:
        arena = Arena(settings.file, settings.against, Path(folder), settings.timeout_s, settings.method)
        try:
            return _Contest(settings, arena, progress).run()
        finally:
            arena.close()


def memory_folder() -> str | None:
    """Where files are memory, if there is room: results of gigabytes pass between processes."""
    try:
        return "/dev/shm" if shutil.disk_usage("/dev/shm").free > MEMORY_FOLDER_BYTES else None
    except OSError:
        return None


class _Contest:
    def __init__(self, settings: Settings, arena: Arena, progress: Callable[[str], None]):
        self.settings, self.arena, self.progress = settings, arena, progress
        self.charges: list[Charge] = []
        self.ceilings: dict[tuple, roofline.Ceilings] = {}
        self.tolerance: dict | None = None
        self.samples: list[tuple[dict, dict]] = []   # inputs that no contender has seen, with the oracle's answers
        self.state: dict | None = None   # of the GPU, right after the last round

    def run(self) -> dict:
        self.progress("importing the kernel file")
        documents = []
        surroundings = environment.describe()   # while the processes start
        try:
            loaded = self.arena.open()
            self.tolerance = loaded["tolerance"]
            for case in self._chosen(loaded["bench_cases"]):
                documents.append(self._case(case))
                if self.charges:
                    break
        except Stopped as stop:
            self.charges.append(Charge(stop.code, str(stop)))
        speedups = [case["speedup"]["estimate"] for case in documents if case.get("speedup")]
        return {"environment": surroundings,
                "kernel": {"file": str(self.settings.file), "sha256": self.arena.kernel.opened.get("sha256")},
                "cases": documents, "ceilings": [found.to_json() for found in self.ceilings.values()],
                "geometric_mean_speedup": statistics.geometric_mean(speedups) if speedups else None,
                "charges": [{"code": int(charge.code), "sentence": charge.sentence} for charge in self.charges],
                "remarks": list(dict.fromkeys(self.arena.remarks))}

    def _chosen(self, cases: Sequence[str]) -> Sequence[str]:
        unknown = [name for name in self.settings.cases if name not in cases]
        if unknown:
            raise no_such_case(unknown[0], self.settings.file, cases)
        return self.settings.cases or cases

    def _case(self, name: str) -> dict:
        arena = self.arena
        self.progress(f"case {name}: first calls")
        first = arena.draw(name)
        # While slower contenders still import; a large case gets its samples one at a time, for their memory's sake.
        self.samples = [self._sample(name, first) for _ in range(3 if first["size"] <= AHEAD_BYTES else 1)]
        for contender in arena.contenders:
            contender.begin_case()
            if arena.ready(contender):
                contender.facts = arena.tell(contender, "enter", case=name, seed=secrets.randbits(40),
                                             budget_s=self.settings.budget_s)
        ceilings = self._ceilings(arena.kernel.facts)
        self.progress(f"case {name}: verifying")
        for contender in arena.racing():   # this burst warms the clocks; nothing of it is kept
            arena.tell(contender, "burst", ambush=0, seed=secrets.randbits(40))
        self._sampled_round(self.samples.pop(), [contender.name for contender in arena.racing()], before_timing=True)
        if not self.charges:
            self._rounds(name, first)
            self.state = gpu_state.read()
            for contender in arena.racing():
                self._accuse(contender, contender.bursts)
        Path(first["file"]).unlink(missing_ok=True)
        aside = {} if self.charges else {contender.name: self._aside(contender) for contender in arena.racing()}
        return self._documented(name, ceilings, aside)

    def _rounds(self, name: str, first: dict) -> None:
        sampled = 1 + secrets.randbelow(FEWEST_ROUNDS)
        orders = statistics.rotation([contender.name for contender in self.arena.racing()], MOST_ROUNDS)
        deadline = time.monotonic() + self.settings.budget_s
        for done, order in enumerate(orders, 1):
            self.progress(f"case {name}: round {done}")
            late = done >= FEWEST_ROUNDS and time.monotonic() > deadline
            settled = done > ENOUGH_ROUNDS and all(r.half_width < NARROW for r in self._ratios().values())
            last = late or settled or done == MOST_ROUNDS
            if last or done == sampled:
                sample = self.samples.pop() if self.samples else self._sample(name, first)
                self._sampled_round(sample, order, before_timing=False)
            else:
                for contender in map(self.arena.named, order):
                    if contender.lost is None:
                        answer = self.arena.tell(contender, "burst", ambush=secrets.randbits(16),
                                                 seed=secrets.randbits(40))
                        self._keep(contender, answer)
            if self.charges or last:
                return

    def _sample(self, name: str, first: dict) -> tuple[dict, dict]:
        """(inputs that no contender has seen, the oracle's answer to them)."""
        fresh = self.arena.draw(name, first)
        reference = self.arena.ask(self.arena.oracle, "reference", bundle=fresh, folder=str(self.arena.folder),
                                   name=Path(self.arena.new_file()).name)
        return fresh, reference

    def _sampled_round(self, sample: tuple[dict, dict], order: Sequence[str], before_timing: bool) -> None:
        """A round in which one call of each burst gets the inputs of ``sample`` and is compared in full."""
        arena = self.arena
        fresh, reference = sample
        for contender in map(arena.named, order):
            if contender.lost is not None:
                continue
            kept = None if contender.is_reference else arena.new_file()
            answer = arena.tell(contender, "burst", ambush=secrets.randbits(16), seed=0, fresh=fresh, keep=kept)
            if not before_timing:
                self._keep(contender, answer)
            if kept is None or contender.lost is not None:
                continue
            if "kept" not in answer:   # a result that cannot be compared is a finding of its own
                self._accuse(contender, [answer])
                continue
            tolerance = self.tolerance if contender is arena.kernel else None
            verdict = arena.ask(arena.referee, "judge", kept=answer["kept"], inputs=fresh, reference=reference,
                                tolerance=tolerance)
            contender.samples += 1
            Path(kept).unlink(missing_ok=True)
            if verdict["wrong"]:
                self._hold_against(contender, evidence.wrong_sample(
                    contender.name, verdict["wrong"], before_timing, answer["replayed"]))
                self._accuse(contender, [answer])
        for bundle in (fresh, *(reference[kind] for kind in ("native", "golden", "moved") if kind in reference)):
            Path(bundle["file"]).unlink(missing_ok=True)

    def _hold_against(self, contender: Contender, charge: Charge) -> None:
        """A charge against the kernel decides the run; against a baseline it costs the baseline its place."""
        if contender is self.arena.kernel:
            self.charges += [charge] if charge not in self.charges else []
        else:
            self.arena.lose(contender, charge.sentence)

    def _accuse(self, contender: Contender, bursts: Sequence[Mapping]) -> None:
        """Hold against a contender what its bursts say."""
        found = evidence.charges(contender.name, bursts, contender.facts["output_bytes"], contender.facts["method"])
        honest = [burst for other in self.arena.racing() if other.is_reference for burst in other.bursts]
        if honest and not contender.is_reference:
            found += evidence.replayed(contender.name, bursts, honest)
        for charge in found:
            self._hold_against(contender, charge)

    def _keep(self, contender: Contender, answer: dict) -> None:
        if contender.lost is None:
            contender.bursts.append(answer)
            contender.rounds_us.append(statistics.median(benchmark_document.usual(answer)))

    def _aside(self, contender: Contender) -> dict:
        """What is reported apart from the cold device time."""
        seen = {}
        for what, count, key in (("warm", 8, "device_us"), ("host", 30, "host_us")):
            answer = self.arena.tell(contender, what, count=count)
            if contender.lost is not None:
                return {}
            seen[f"{what}_us"] = statistics.median(answer[key])
        return seen

    def _ceilings(self, facts: dict) -> roofline.Ceilings:
        """Measured once for each dtype."""
        key = (facts["device"], facts["dtype"] if facts["flops"] else None)
        if key not in self.ceilings:
            self.progress("measuring the ceilings of this device")
            self.ceilings[key] = roofline.Ceilings(**self.arena.ask(
                self.arena.referee, "ceilings", device=key[0], dtype=key[1], method=self.settings.method))
        return self.ceilings[key]

    def _ratios(self) -> dict[str, statistics.Ratio]:
        """Time of each baseline over time of the kernel: above one, the kernel is faster."""
        kernel, *baselines = self.arena.contenders
        return {baseline.name: statistics.paired_ratio(baseline.rounds_us, kernel.rounds_us) for baseline in baselines
                if baseline.lost is None and min(kernel.rounds_us) > 0}

    def _documented(self, name: str, ceilings: roofline.Ceilings, aside: dict) -> dict:
        """The case as the document shows it; a time that physics rules out becomes a charge."""
        if self.charges:
            return benchmark_document.refused(name, self.arena.kernel, self.state)
        document = benchmark_document.of_case(name, self.arena.contenders, ceilings, aside, self._ratios(), self.state)
        refusal = (document["contenders"][0]["roofline"] or {}).get("refusal")
        if refusal and self.arena.kernel.facts["device"] == "cuda":   # a CPU's caches are not flushed
            self.charges.append(Charge(ExitCode.CHEATING, f"kernel: {refusal}"))
            return benchmark_document.refused(name, self.arena.kernel, self.state)
        return document
