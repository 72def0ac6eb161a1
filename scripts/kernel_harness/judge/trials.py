"""The trials on one case: fresh and reused memory, other values, many calls, streams, graphs, hostile data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from .. import simulation, values
from ..comparison.structure import digest, finite
from ..contract import ContractError
from ..inputs import ties, variations
from ..processes.worker import Worker
from ..values import Bundle
from .call_trials import CallTrials
from .verification import REPEATS, SEEDS

HOSTILE_BYTES = 2 * 2**20  # of inputs of a case after the first; a larger one meets no hostile values
SLOW_SIMULATION = 20.0  # seconds a call: the first result is judged, repetitions are left out
LARGE_BYTES = 2**30  # of inputs; a larger case meets each kind of trial once: every call moves them four times
MOST_INPUTS = 6  # each of which is changed alone
WARPED = "differ from get_inputs' by 5 to 35 % (a tensor of one value: by up to its size, zeros by up to 1)"
CHANGED = {  # by further variations, which are left out where they do not fit
    variations.flip: "differ from get_inputs' in the sign of one in 128",
    variations.rotate: "are get_inputs' at other places of their rows",
    ties.nudge: "differ from get_inputs' by less than 16 bits show",
}


def run_case(judge, case: str, thorough: bool = False, bench: bool = False) -> None:
    CaseTrials(judge, case, thorough, bench).run()


class CaseTrials(CallTrials):
    """All trials of one case. thorough: also those that are worth making once a file."""

    early: Sequence[tuple[values.Mapping, Path]] = ()  # inputs and results of the fresh process's first calls

    def run(self) -> None:
        judge = self.judge
        first = self._inputs("first")
        if self.bench and self._is_left_out(first):
            self.outcome.note(
                f"[case {self.case}] too large to verify here ({first.size >> 20} MiB of inputs); "
                "benchmark_kernel.py verifies what it times"
            )
            judge.remove_files()
            return
        if judge.put_off is not None and first.size > LARGE_BYTES:
            judge.put_off.append(partial(run_case, case=self.case, bench=self.bench))
            judge.remove_files()
            return
        if judge.spoiled:
            judge.renew_candidate()
        if not judge.loaded:
            judge.load_candidate(interpret=self.device == "cpu" and not self.settings.simulate)
            judge.loaded = True
        self.on_gpu = self.device != "cpu"
        if first.size < judge.outcome.facts.get("smallest_bytes", first.size + 1):
            judge.outcome.facts.update(smallest_case=self.case, smallest_bytes=first.size)
        if self.settings.simulate:
            facts, size = self.outcome.facts, sum(span.nbytes for span in first.spans)
            if size > simulation.INPUT_BYTES:
                facts.setdefault("too_large", {})[self.case] = size
                judge.remove_files()
                return
            facts["simulated_bytes"] = max(facts.get("simulated_bytes", 0), size)
        expected = self.base = self._reference(first, "first")
        self.output_nbytes = [span.nbytes for span in expected["native"].bundle.spans]
        if self.thorough:
            self._ask_what_it_refuses(first, expected)
            judge.knows_refused.set()
        if self.on_gpu and self.thorough and judge.full:
            judge.rehearse()
        work = self._working_copy(first)
        traced = not self.on_gpu and not self.settings.simulate
        reply = self._call("first inputs", work, "a", poison="nan", trace=traced)
        self._judge_trial("first inputs", reply, expected, first, work, decisive="values")
        if self.case_failed():
            return
        steps = []
        if not self.settings.simulate or self._was_simulated(reply["facts"]):
            self._circular(expected["trace"], reply["facts"].get("trace"))
            self._census(reply["facts"])
            self._teeth(expected, first)
            steps = self._steps(first, expected, reply, work)
        for step in steps:
            if self.case_failed():
                judge.dismiss_spares()  # one has been asked for calls, and would answer them to the next trial
                break
            self._taken(step)
            judge.remove_files(keep={first.file, work.bundle.file, *self._early_files()})
        judge.ask_candidate("drop", slots=["a", "b", "c"])
        judge.remove_files()

    def _ask_what_it_refuses(self, first: Bundle, expected: dict) -> None:
        """A reference that raises on changed values, or answers NaN, takes those of get_inputs alone."""
        swaps = (variations.swap, variations.swap_one, variations.flip, variations.rotate)
        for change, refused in ((variations.warp, (variations.warp,)), (variations.swap, swaps)):
            new, moved = self._varied(first, change)
            try:
                taken = not moved or finite(self._reference(new, "probe", golden=False)) or not finite(expected)
            except ContractError:
                taken = False
            if not taken:
                self.judge.refused.update(refused)

    def _early_files(self) -> list[str]:
        breakers = [file for breaker in self.rule_breakers for file in breaker.files]
        return breakers + [file for work, output in self.early for file in (work.bundle.file, str(output))]

    def _steps(self, first: Bundle, expected: dict, reply: dict, work: values.Mapping) -> list:
        """What this case goes through after its first call, in order."""
        judge, simulate, large = self.judge, self.settings.simulate, self._is_large(first)
        if simulate and reply["facts"]["host_seconds"] >= SLOW_SIMULATION:
            return []
        if self.bench and self._is_called_once(first):
            return []
        if large:
            self.outcome.note(f"[case {self.case}] {first.size >> 20} MiB of inputs: each kind of trial once")
        thorough = judge.full and self.thorough and not simulate and not large
        steps = [] if self.bench else [lambda: self._repeat(first, expected, reply)]
        steps.append(lambda: self._replay(first, work))
        if thorough and not judge.mutates:
            steps += [lambda: self._worn(first, work), lambda: self._kept(first)]
        if thorough:  # what is caught in fewer calls needs no further process, unless it is there
            steps.insert(0 if judge.spares else len(steps), lambda: self._start_others(first))
        is_in_full = judge.full and not (simulate or large or self.bench)
        if is_in_full or (self.thorough and not (simulate or large)):
            steps += [lambda: self._many_calls(first), lambda: self._right_after(first)]
        steps += [lambda: self._own_inputs(first)] * (judge.full and self.thorough and not large and not judge.mutates)
        steps += [lambda: self._turned(first)] if self._takes_turns(reply["facts"], thorough) else []
        seeds = range(1, 1 if self.bench or simulate or large else self.settings.seeds or SEEDS[self.settings.level])
        steps += [lambda seed=seed: self._another_seed(seed) for seed in seeds]
        if self.on_gpu and not self.bench:
            steps += [lambda: self._streams(first), lambda: self._queued(first)]
        says_something = any(self.output_nbytes) or judge.mutates  # of an empty result no value is wrong
        if simulate and judge.full and not self.bench and says_something:
            steps += [lambda: self._simulated_values(first)] + [lambda: self._familiar_calls(first)] * self.thorough
        steps += [self._more_teeth] * self.thorough + [lambda: self._index_replay(first)] * (thorough or is_in_full)
        if thorough or (judge.full and not simulate and first.size < HOSTILE_BYTES and says_something):
            steps += [judge.take_understudy, lambda: self._hostile(first)]
        elif judge.full and not (simulate or large) and (self.on_gpu or not self.bench):
            steps.append(lambda: self._uneven(first))
        if thorough:
            steps += [lambda: self._dependence(first, expected), lambda: self._rare_draws(first)]
            steps += [lambda: self._single_elements(first), lambda: self._plain_memory(first)]
            steps += [lambda: self._modes(first), lambda: self._fresh_process(first, expected)]
            steps.append(lambda: self._sealed(first))  # no other process is kept for later
        steps += [lambda: self._copies(first)] if self.on_gpu and self.thorough else []
        if self.on_gpu and not self.bench and judge.capturable:
            steps.append(lambda: self._graph(first))  # the last: when it fails the process is given up
        return steps

    def _is_large(self, first: Bundle) -> bool:
        return first.size > (LARGE_BYTES if self.thorough else LARGE_BYTES // 8)

    def _was_simulated(self, facts: dict) -> bool:
        simulated = facts["simulated"]
        if not any(self.output_nbytes):
            return True  # an empty result needs no launch
        if simulated and simulated["launches"]:
            self.outcome.facts.setdefault("simulated_cases", []).append(self.case)
            self.outcome.facts["launched"] = "simulated"
            known = set(self.outcome.facts.get("simulated_code", ()))
            self.is_new_code = not known.issuperset(simulated["code"])
            self.outcome.facts["simulated_code"] = sorted(known.union(simulated["code"]))
            return True
        self.outcome.note(f"[case {self.case}] kernel_fn launched nothing to simulate: only its first call was judged")
        return False

    # --- trials ---

    def _repeat(self, first: Bundle, expected: dict, before: dict) -> None:
        """The same values in fresh memory, other poison: the same result, bit for bit or within the bound."""
        digests = {digest(before)}
        repeats = 1 if self._is_large(first) else REPEATS[self.settings.level]
        for index in range(repeats):
            work = self._working_copy(first)
            embed = index % 2 == 0
            label = "same values, views at an offset of a larger storage" if embed else "same values, fresh memory"
            # On a GPU the first call compiles and tunes; the trace and the census are of one that does neither.
            # Starting the profiler takes up to six seconds: quick takes the census of the CUDA graph.
            watch = self.on_gpu and index == 0
            counts = watch and self.thorough and self.judge.full and not self.early
            how = {"poison": "large" if embed else "nan", "embed": embed, "trace": watch, "count_kernels": counts}
            reply = self._call(label, work, "b", **how)
            self._judge_trial(label, reply, expected, first, work, decisive="offset-views" if embed else "race")
            if "bundle" not in reply:
                return
            self._circular(expected["trace"], reply["facts"].get("trace"))
            if self.on_gpu:
                self._census(reply["facts"])
            digests.add(digest(reply))
        if len(digests) > 1 and not self.case_failed():
            self.outcome.note(
                f"[case {self.case}] not bitwise repeatable: {len(digests)} different results of "
                f"{repeats + 1} calls, all within the bound"
            )

    def _start_others(self, first: Bundle) -> None:
        """The processes of _index_replay and _fresh_process import the file while other trials run; the latter's makes
        its first call, which compiles, and takes the census in its second."""
        self.rule_breakers = self._rule_breakers(first)
        while len(self.judge.spares) < 1 + bool(self.rule_breakers):
            self.judge.start_another(self.judge.interprets, fresh=not self.judge.spares)
        fresh = self.judge.spares[0]  # given out last
        counts = self.on_gpu and "kernels" not in self.outcome.facts
        self.early = [(self._working_copy(first), self.judge.new_file("out")) for _ in range(1 + counts)]
        for index, (work, output) in enumerate(self.early):
            self._ask_in_fresh_process(fresh, work, output, count_kernels=index > 0)

    def _ask_in_fresh_process(self, process: Worker, work: values.Mapping, output: Path, **options) -> None:
        request = {"slot": "a", "output": str(output), "expected_nbytes": self.output_nbytes, **options}
        process.send("call", bundle=work.bundle.to_json(), **request)

    def _replay(self, first: Bundle, work: values.Mapping) -> None:
        """New values in the memory of the first call: a stored answer shows here."""
        changes = [("bumped", variations.warp, None), ("silent", variations.warp, None)]
        large = self._is_large(first)
        if self.judge.full and not large:
            swaps = (("bumped", variations.swap), ("bumped", variations.swap_one), ("silent", variations.swap_one))
            changes += [(refresh, change, None) for refresh, change in swaps]
        if self.judge.full and self.thorough and not large:
            # What a stored answer is filed under may leave an input or a sign out.
            inputs = range(min(len(first.tree["items"]), MOST_INPUTS))
            changes += [("bumped", variations.warp, {index}) for index in inputs if len(inputs) > 1]
            changes += [("bumped", change, None) for change in CHANGED]
        for refresh, change, only in changes:
            new, moved = self._varied(first, change, only)
            label = "new values in the same memory" + (" (version counter unchanged)" if refresh == "silent" else "")
            label += f" for input {min(only)} alone" if only else ""
            extra = bool(only) or change in CHANGED
            if extra and not moved:
                continue
            how = CHANGED.get(change, WARPED)
            if not moved:
                (new, moved), how = self._other_inputs(first), "are another draw of get_inputs"
            if not moved:
                return
            variations.rewrite(work, new)
            reply = self._call(label, work, "a", refresh=refresh, poison="large", may_fail=True)
            if change is variations.warp and not extra and self._both_refuse(reply, new):
                return self._replay(first, work)
            if self._refused(label, reply, decisive=change is variations.warp and not extra):
                continue
            try:
                expected = self._reference(new, "varied")
            except ContractError:
                continue  # the reference refuses such values: they are outside what the file promises
            if extra:
                if finite(expected) and self._failed_quietly(reply, expected):
                    self._explain_replay(label, reply, new, expected, work, how=how)
                    if self.case_failed():
                        return
                continue
            if change is not variations.warp:
                self._only_replay(label, reply, expected, new, work, silent=refresh == "silent")
                continue
            if self._failed_quietly(reply, expected):
                self._explain_replay(label, reply, new, expected, work, refresh == "silent", how)
                if self.case_failed():
                    return
            else:
                self._judge_trial(label, reply, expected, new, work, decisive="replay")
        if self.judge.full and self.thorough and not large:
            self._elsewhere(first, work)

    def _explain_replay(self, label: str, reply: dict, new: Bundle, expected: dict, work: values.Mapping,
                        silent: bool = False, how: str = WARPED) -> None:
        """Wrong on new values in old memory: a cache (right in fresh memory), chance (right when asked again), or no
        function of the values at all?"""
        stale = self._is_previous(reply)
        fresh = self._call("new values, fresh memory", self._working_copy(new), "c", poison="nan")
        right_when_fresh = not self._failed_quietly(fresh, expected)
        if right_when_fresh and not stale and not self.judge.mutates:
            again = self._call(label + ", again", work, "a", refresh="silent", poison="large")
            if not self._failed_quietly(again, expected):
                seen = f"Wrong in one call and right in the next on the same values ({label}): "
                self.outcome.add("race", seen + f"{self._worst(reply, expected)}.", self.case)
                return
        worst = self._worst(reply, expected)
        if right_when_fresh:
            if silent and not stale:
                self.outcome.note(
                    f"[case {self.case}] something is cached by the version counter of an input: change "
                    "inputs through torch operations, not through .data, when you use this kernel"
                )
                return
            kept = "its previous result, bit for bit" if stale else "stale values"
            self.outcome.add(
                "replay",
                f"With {label} kernel_fn returned {kept} ({worst}); in fresh memory the same values "
                "give the right result.",
                self.case,
            )
        elif stale:
            self.outcome.add(
                "replay",
                f"With {label} kernel_fn returned its previous result, bit for bit ({worst}), and in "
                "fresh memory, too: it does not look at the values.",
                self.case,
            )
        else:
            self.outcome.add(
                "other-values",
                f"On values that {how} the result is wrong: {worst}.",
                self.case,
            )

    def _only_replay(self, label: str, reply: dict, expected: dict, new: Bundle, work: values.Mapping,
                     silent: bool) -> None:
        if not self._failed_quietly(reply, expected):
            return
        if self._is_previous(reply):
            self.outcome.add(
                "replay",
                f"With {label} (a few elements changed places) kernel_fn returned its previous result, bit for bit.",
                self.case,
            )
        elif silent:
            self._explain_replay(label, reply, new, expected, work, silent=True)
        else:
            self.outcome.add(
                "other-values",
                "After a few elements of the inputs changed places the result is wrong: "
                f"{self._worst(reply, expected)}.",
                self.case,
            )

    def _another_seed(self, seed: int) -> None:
        other = self._inputs(f"seed {seed}")
        self._judged(f"inputs of seed {seed}", other, self._reference(other, "seed"))

    def _fresh_process(self, first: Bundle, expected: dict) -> None:
        """The first inputs in another process: its first call, and one while this process runs the same kernel."""
        judge, work, output = self.judge, self._working_copy(first), self.judge.new_file("out")
        judge.dismiss_spares(kept=1)  # which was asked for its first call
        with judge.another_candidate(judge.interprets, fresh=True) as other:
            labels = "in a fresh process", "in a fresh process, again"
            answers = [judge.ask_candidate_answer("call", self.case, other) for _ in self.early]
            trials = [(label, *sent, answer) for label, sent, answer in zip(labels, self.early, answers, strict=False)]
            busy = self._working_copy(first).bundle.to_json()
            judge.candidate.send("alternate", bundle=busy, other=busy, slot="c", outputs=[], count=10**6, seconds=0.3)
            self._ask_in_fresh_process(other, work, output)
            under_load = judge.ask_candidate_answer("call", self.case, other)
            trials.append(("in a fresh process, under load", work, output, under_load))
            judge.ask_candidate_answer("call", self.case)
            self._second_device(other, first, expected)
        for label, work, output, reply in trials:
            if "bundle" not in reply:
                self._no_result(label, reply)
            self._take_result(reply, output, label)
            self._judge_trial(label, reply, expected, first, work, decisive="fresh-process")
            if self.on_gpu:
                self._census(reply["facts"])


class OneCall(CaseTrials):
    """The first call of a case, and no other trial."""

    def _steps(self, *_) -> list:
        return []
