"""Trials of calls in a row: values in turn in the same memory, and one call right after another."""

from __future__ import annotations

import math

from ..contract import ContractError
from ..inputs import variations
from ..values import Bundle
from .device_trials import DeviceTrials
from .verification import CALLS, MORE_CALLS_SECONDS

NEAR_DRAWS, NEAR_CALLS = 2, 6  # of values of which few elements change places, in turn
KEPT_SECONDS, LONG_SECONDS, KEPT_TIMES, KEPT_DRAWS = 1e-3, 0.2, 8, 3  # of calls whose answers may be kept
SOON = 2  # times that a call comes right after others: a busy machine may make it late


class CallTrials(DeviceTrials):
    """Trials of what a kernel keeps from call to call."""

    def _many_calls(self, first: Bundle) -> None:
        """Two sets of values in turn in the same memory, many times: caches, counters and races show here. Then two
        that differ in few elements: what the call before left in memory that is given back is nearly right."""
        warped = self._varied(first, variations.warp)[0]
        self.judge.progress(f"{self.case}: {CALLS[self.settings.level]} calls")
        self._in_turn([warped, self._other_inputs(first)[0]])
        for _ in range(NEAR_DRAWS if self.thorough else 0):
            near, moved = self._varied(warped, variations.swap)
            if moved and not self.case_failed() and self._accepts(near):  # places may say which is the larger of two
                self._in_turn([warped, near], calls=NEAR_CALLS)

    def _in_turn(self, bundles: list[Bundle], calls: int = 0) -> None:
        more_seconds = MORE_CALLS_SECONDS if self.judge.full and self.thorough and not calls else 0
        outputs, work = [self.judge.new_file("out") for _ in range(6)], list(map(self._working_copy, bundles))
        how = {"bundle": work[0].bundle.to_json(), "other": work[1].bundle.to_json(), "slot": "c"}
        how |= {"count": calls or CALLS[self.settings.level], "seconds": [self.settings.timeout / 20, more_seconds]}
        reply = self.judge.ask_candidate("alternate", self.case, **how, outputs=list(map(str, outputs)))
        if "found" not in reply:
            if self._refused("other values", reply, decisive=not calls):
                return
            self._no_result("in a loop of calls", reply)
        references = [self._reference(bundle, "varied") for bundle in bundles]
        for found, output in zip(reply["found"], outputs, strict=False):
            label = f"call {found['call']} of {reply['calls']}{found['by']}, two sets of values in turn"
            self._take_result(found, output, label)
            expected = references[found["values"] % 2]
            if self._failed_quietly(found, expected):
                self.outcome.add("many-calls", f"{self._worst(found, expected)} ({label}).", self.case)
                return
        if reply["reused"]:
            seen = f"Call {reply['reused']} returned the memory of an earlier result that was still in use."
            self.outcome.add("earlier-result", seen, self.case)
        if max(reply["distinct"]) > 1:
            told = f"{max(reply['distinct'])} different results for the same values in {reply['calls']} calls"
            self.outcome.note(f"[case {self.case}] {told}, all within the bound")

    def _kept(self, first: Bundle) -> None:
        """Is the answer kept by what the inputs hold? Then a call on values that it has met takes next to nothing, and
        one on inputs of which any one is new as long as ever. Not on a GPU, where to look at them takes as long."""
        if self.on_gpu or self.call_seconds > LONG_SECONDS:
            return
        new, fresh, met = first, math.inf, 0.0
        for _ in range(KEPT_DRAWS):
            before, (new, moved) = new, self._varied(first, variations.warp)
            if not moved or len(taken := self._seconds(new, before)) < 2:
                return
            fresh, met = min(fresh, taken[-1]), max(met, *taken[1:-1])
            if fresh < KEPT_SECONDS or KEPT_TIMES * met > fresh or not self._accepts(new):
                return
        for index in range(len(first.tree["items"])):
            for kinds in ("float", "ruled", "index"):
                other, moved = self._varied(new, variations.swap_one, {index}, kinds)
                if moved and 2 * self._seconds(other, new)[-1] < fresh:
                    return  # what is kept hangs on others, as the plan of a weight does
        seen = f"A call on values that it has met takes {1e3 * met:.2g} ms, and one on new ones {1e3 * fresh:.2g} ms"
        self.outcome.add("replay", f"{seen}: it keeps its answers by what the inputs hold.", self.case)

    def _seconds(self, bundle: Bundle, before: Bundle) -> list[float]:
        """Of calls on the values of ``before`` and then on these, in one memory; infinity where it refuses them."""
        return self._soon(bundle, before, timed=True).get("seconds", [math.inf])

    def _soon(self, bundle: Bundle, before: Bundle, timed: bool = False) -> dict:
        work, other, output = self._working_copy(bundle), self._working_copy(before), self.judge.new_file("out")
        how = {"bundle": work.bundle.to_json(), "other": other.bundle.to_json(), "slot": "c", "output": str(output)}
        reply = self.judge.ask_candidate("soon", self.case, **how, timed=timed)
        if "bundle" in reply:
            self._take_result(reply, output, "right after a call on other values")
        return reply

    def _right_after(self, first: Bundle) -> None:
        """Other values with nothing between this call and the one before, in the same memory and in other: where a
        timed loop is told from a checker's by the pause between its calls, the answer is the last one's."""
        new, moved = self._varied(first, variations.warp)
        if not moved:
            new, moved = self._other_inputs(first)
        if not moved:
            return
        before, label = self._working_copy(first).bundle.to_json(), "right after a call on other values"
        try:
            expected = self._reference(new, "varied")
        except ContractError:
            return
        for _ in range(SOON):
            work = self._working_copy(new)
            reply = self._call(label, work, "b", may_fail=True, poison="nan", before=before)
            if "bundle" in reply and self._failed_quietly(reply, expected):
                self._judge_trial(label, reply, expected, new, work, decisive="many-calls")
                return
        for _ in range(SOON):
            reply = self._soon(new, first)
            if "bundle" in reply and self._failed_quietly(reply, expected):
                seen = f"{self._worst(reply, expected)} ({label}, in the same memory)."
                self.outcome.add("many-calls", seen, self.case)
                return
