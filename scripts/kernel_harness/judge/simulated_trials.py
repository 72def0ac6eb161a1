"""Trials in the simulator, where a call takes as long as thousands do on a GPU: other values for some of the cases, and
many calls of which only what is new is launched."""

from __future__ import annotations

from ..values import Bundle
from .value_trials import ValueTrials

QUICK_SIMULATION = 1.0  # seconds a call: a case meets other values than get_inputs', too
MOST_VALUES = 4  # cases that do, where they launch code of their own or in less than
VERY_QUICK_SIMULATION, LONG_SIMULATION = 0.1, 8.0  # seconds
TELLING_BYTES = 256  # of inputs: other values of nothing, or of one element, say little
MANY_CALLS, MANY_SECONDS = 300, 4.0
MOST_NEW = 6  # results of calls that launch other code


class SimulatedTrials(ValueTrials):
    """What a simulated case goes through beside what all do."""

    def _simulated_values(self, first: Bundle) -> None:
        """Hostile values, other integers and other arguments for the first case that is simulated quickly; hostile ones
        also for some others, and for what is left the trials that tell most."""
        met, size = self.outcome.facts.setdefault("other_values", []), sum(span.nbytes for span in first.spans)
        if size < TELLING_BYTES:
            return
        if size > self.outcome.facts.get("pace", (0, 0.0))[0]:
            self.outcome.facts["pace"] = size, self.call_seconds  # of the largest case: what longer ones may take
        if met and self.call_seconds < VERY_QUICK_SIMULATION:
            self._index_replay(first)
        if self.call_seconds > QUICK_SIMULATION or len(met) == MOST_VALUES:
            if self.is_new_code and self.call_seconds < LONG_SIMULATION:
                self._most_hostile(first)
            return
        if not met:
            self.rule_breakers = self._rule_breakers(first)
            self._index_replay(first)
            self._rare_draws(first)
        if not met or self.is_new_code or self.call_seconds < VERY_QUICK_SIMULATION:
            self._hostile(first)
            met.append(self.case)
        if met == [self.case]:
            self._sealed(first)

    def _familiar_calls(self, first: Bundle) -> None:
        """Does a later call launch other code, and is it wrong, or return the memory of an earlier result?"""
        work, outputs = self._working_copy(first), [self.judge.new_file("out") for _ in range(MOST_NEW)]
        self.judge.progress(f"{self.case}: {MANY_CALLS} calls")
        how = {"bundle": work.bundle.to_json(), "slot": "c", "outputs": list(map(str, outputs))}
        reply = self.judge.ask_candidate("many_calls", self.case, **how, count=MANY_CALLS, seconds=MANY_SECONDS)
        if "found" not in reply:
            self._no_result("in a row of calls", reply)
        if reply["reused"]:
            seen = f"Call {reply['calls']} of a row returned the memory of an earlier result that was still in use."
            self.outcome.add("earlier-result", seen, self.case)
        for found, output in zip(reply["found"], outputs, strict=False):
            label = f"call {found['call']} of a row, which launches other code than those before"
            self._take_result(found, output, label)
            expected = self._reference(first, "familiar")
            if self._failed_quietly(found, expected) and not self.case_failed():
                self.outcome.add("many-calls", f"{self._worst(found, expected)} ({label}).", self.case)
