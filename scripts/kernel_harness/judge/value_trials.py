"""Trials with other values: does the reference depend on its inputs, and is the kernel right on rare draws of them, on
other integers and arguments, in other modes of PyTorch and where no input may be written?"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import torch

from .. import values
from ..comparison.structure import as_finite, digest, floats, same_outputs, tensors
from ..contract import ContractError, read_source
from ..inputs import integers, variations
from ..processes import worker
from ..values import Bundle
from .hostile_trials import HostileTrials
from .judgement import REFUSALS
from .rule_breaker import RuleBreaker

QUICK_INTERPRETER = 10.0  # seconds of a first call: its programs run in the opposite order, too
MODES = ("no_grad", "inference_mode")
RARE_BYTES = 2**23  # of inputs, of which many are drawn
SINGLE_BYTES, SINGLES, SINGLES_ON_GPU = 2**18, 48, 16  # of inputs, whose elements change one at a time; calls
MORE_TEETH = 8  # draws
MOST_UNMOVED = 6  # results that stay, of which the reference is asked
PART = 1 / 8  # share of elements; fewer may be right by chance
MOST_OTHERS = 4  # cases beside the first whose numbers are changed
MISREAD = 1 / 12  # share of elements; one nibble of sixteen is read wrongly
WORN, WORN_SECONDS = 32, 1 / 32  # calls, each of which takes no longer
ADVICE = "Raise ValueError for such (in reference_fn if values tell), or give them a case; --level paranoid decides"


class ValueTrials(HostileTrials):
    """Trials whose inputs the judge changes beyond what replay needs."""

    rule_breakers: Sequence[RuleBreaker] = ()
    is_new_code = False  # does the case launch what no simulated case before it did?
    error = ""  # of the last call in another process

    def _taken(self, step: Callable[[], None]) -> None:
        """Makes a step; where the reference raises on changed values, again with those of get_inputs: a case may have a
        constant, say, that must stay one."""
        try:
            step()
        except ContractError:
            if variations.warp in self.judge.refused | self.refused:
                raise
            self.refused.add(variations.warp)
            step()

    def _both_refuse(self, reply: dict, new: Bundle) -> bool:
        """Does the reference refuse what the kernel refused? Then other draws of get_inputs take the place of changed
        values: a case may keep a rule that cannot be seen in it, a single row of length one, say."""
        known = variations.warp in self.judge.refused | self.refused
        if known or "bundle" in reply or not str(reply.get("error", "")).startswith(REFUSALS):
            return False
        try:
            self._reference(new, "refused", golden=False)
        except ContractError:
            self.refused.add(variations.warp)
        return variations.warp in self.refused

    def _dependence(self, first: Bundle, expected: dict) -> None:
        """Does the reference depend on its inputs? An answer that does not move tells nothing about a kernel."""
        tree = first.tree["items"]
        still = []
        for index, node in enumerate(tree):
            tensors = [t for _, t in values.tensors_of(node)]
            if not tensors or index in self.judge.mutates or all(0 in t["shape"] for t in tensors):
                continue
            floating = values.dtype_named(tensors[0]["dtype"]).is_floating_point
            # Order survives warp: an argmax moves only when elements change places.
            changes = (variations.warp, variations.shuffle) if floating else (variations.scramble, variations.repeat)
            if self._stands_still(first, expected, index, changes, "float" if floating else "index"):
                still.append(index)
        count = sum(bool(list(values.tensors_of(node))) for node in tree)
        if still and len(still) == count:
            if self._draws_alike(first, expected):
                seen = "reference_fn gives the same result whatever its inputs are."
                self.outcome.add("weak-inputs", seen, self.case)
        elif still:
            self.outcome.note(
                f"[case {self.case}] reference_fn does not depend on input "
                f"{', '.join(map(str, still))} with these inputs: errors there stay unseen"
            )

    def _draws_alike(self, first: Bundle, expected: dict) -> bool:
        """Do other draws of get_inputs give the same? A count or a rank may stand still under all other changes, and in
        one of 75 draws, too."""
        for _ in range(3):
            new, moved = self._other_inputs(first)
            now = self._reference(new, "depends", golden=False)["native"] if moved else expected["native"]
            if not same_outputs(now, expected["native"]):
                return False
        return True

    def _stands_still(self, first: Bundle, expected: dict, index: int, changes, kinds: str) -> bool:
        tried = False
        for change in changes:
            new, moved = self._varied(first, change, only={index}, kinds=kinds)
            if not moved:
                continue
            tried = True
            try:
                now = self._reference(new, "depends", golden=False)
            except ContractError:
                return False  # a reference that refuses other values reads them
            if not same_outputs(now["native"], expected["native"]):
                return False
        return tried

    def _rare_draws(self, first: Bundle) -> None:
        """Draws of get_inputs whose integers, masks or zeros are unlike those of others (rare_draws.py)."""
        if first.size > RARE_BYTES:
            return
        answer = self.judge.ask_oracle("rare_draws", case=self.case, seed=self.judge.next_seed())
        for seed, what in answer["rare"]:
            if self.case_failed():
                return
            drawn = self._inputs("rare", seed)
            try:
                expected = self._reference(drawn, "rare")
            except ContractError:
                continue
            if as_finite(expected, self.base):  # else a mean of nothing, say, which nobody may have thought of
                label = f"inputs of seed {seed}, a rare draw: {what}"
                self._judged(label, drawn, expected)

    def _judged(self, label: str, drawn: Bundle, expected: dict) -> None:
        work = self._working_copy(drawn)
        reply = self._call(label, work, "b", poison="large")
        self._judge_trial(label, reply, expected, drawn, work, decisive="values")

    def _more_teeth(self) -> None:
        """A few results may by chance be those of a kernel that computes nothing: other draws tell, as of a sign."""
        for _ in range(MORE_TEETH):
            if not any(map(all, self.judge.teeth.values())):
                return
            drawn = self._inputs("teeth")
            with suppress(ContractError):
                self._teeth(self._reference(drawn, "teeth"), drawn)

    def _single_elements(self, first: Bundle) -> None:
        """One element changes, then another: what a stored answer is filed under may leave out any."""
        floating = [
            index
            for index, node in enumerate(first.tree["items"])
            if any(values.dtype_named(t["dtype"]).is_floating_point for _, t in values.tensors_of(node))
        ]
        if first.size > SINGLE_BYTES or self.judge.mutates or not floating:
            return
        label, work, unmoved = "one element changed in the same memory", self._working_copy(first), 0
        before = digest(self._call(label, work, "b", poison="large"))
        for number in range(SINGLES_ON_GPU if self.on_gpu else SINGLES):
            turn, which = divmod(number, len(floating))
            new, moved = self._varied(first, variations.shrink_one(turn), {floating[which]})
            variations.rewrite(work, new)
            reply = self._call(label, work, "b", refresh="bumped", poison="large", may_fail=True)
            if "bundle" not in reply or unmoved == MOST_UNMOVED:
                return
            if not moved or digest(reply) != before:
                continue
            unmoved += 1
            try:
                expected = self._reference(new, "varied")
            except ContractError:
                return
            if self._failed_quietly(reply, expected):
                fresh = self._call(f"{label}, fresh memory", self._working_copy(new), "c", poison="nan")
                # Wrong in fresh memory, too: it does not look at that element, for whatever reason.
                check = "other-values" if self._failed_quietly(fresh, expected) else "replay"
                seen = f"With {label} kernel_fn returned its previous result, bit for bit"
                self.outcome.add(check, f"{seen} ({self._worst(reply, expected)}).", self.case)
                return

    def _plain_memory(self, first: Bundle) -> None:
        """Inputs as torch.empty makes them: at the edge of no page, between no guard zones. On a GPU they are parts of
        what its allocator gave."""
        if self.on_gpu:
            return
        label, work = "inputs in memory of PyTorch's own", self._working_copy(first)
        reply = self._call(label, work, "b", refresh="plain", poison="nan")
        self._judge_trial(label, reply, self.base, first, work, decisive="offset-views")

    def _modes(self, first: Bundle) -> None:
        """Servers call without gradients. A kernel that computes by them may raise there; a result must be right."""
        draws = [(first, self.base)]
        other, is_another = self._other_inputs(first)
        if is_another:  # what differs in such a mode may take lengths that a draw of few does not have
            draws.append((other, self._reference(other, "mode")))
        for inputs, expected in draws:
            for mode in MODES:
                work = self._working_copy(inputs)
                reply = self._call(f"under torch.{mode}", work, "b", poison="large", may_fail=True, mode=mode)
                self._judge_trial(f"under torch.{mode}", reply, expected, inputs, work, decisive="values")

    def _sealed(self, first: Bundle) -> None:
        """Inputs in memory that ends who writes to it: what is changed and put back shows, too."""
        if self.judge.mutates or (self.on_gpu and not self.settings.simulate) or self._interprets_triton():
            return
        with suppress(ContractError), self.judge.another_candidate(self.judge.interprets) as other:
            try:
                self._ask_other(other, self._working_copy(first).bundle, "a", refresh="sealed")
            except worker.WorkerTimeout:
                seen = f"kernel_fn, whose inputs none may write to, took longer than {self.settings.timeout:g} s"
                self.outcome.add("timeout", f"{seen}; it was killed.", self.case)
            except worker.WorkerDied as error:
                if -error.returncode in (signal.SIGSEGV, signal.SIGBUS):
                    seen = "kernel_fn writes to an input, or beside it: where none may write its process ended"
                    self.outcome.add("input-mutation", f"{seen} ({error}).", self.case)

    def _interprets_triton(self) -> bool:
        """Triton's interpreter copies all arguments back after a launch."""
        return self.judge.interprets and "triton" in read_source(self.settings.kernel)[0]

    def _elsewhere(self, first: Bundle, work: values.Mapping) -> None:
        """Some inputs where they were, others in new memory: what is kept by the address of one is stale then."""
        items = first.tree["items"]
        storages = [{node["storage"] for _, node in values.tensors_of(item)} for item in items]
        shared = [i for i, own in enumerate(storages) if own & set().union(*storages[:i], *storages[i + 1 :])]
        movable = [i for i, own in enumerate(storages) if own and i not in self.judge.mutates and i not in shared]
        groups = dict.fromkeys([tuple(movable[1:]), *((index,) for index in movable)])
        for moved in filter(None, groups) if sum(map(bool, storages)) > 1 else ():
            new, is_other = self._varied(first, variations.warp, set(moved))
            with suppress(ContractError):
                expected = self._reference(new, "varied") if is_other else None
                if expected is None or not as_finite(expected, self.base):
                    continue
                label = f"new values in new memory for input {', '.join(map(str, moved))}, the others where they were"
                variations.rewrite(work, first)
                self._call(label, work, "a", refresh="bumped", poison="large")
                variations.rewrite(work, first)  # those that it changes
                stay, lies = [i for i, own in enumerate(storages) if own and i not in moved], self._working_copy(new)
                reply = self._call(label, lies, "c", poison="large", may_fail=True, borrow=stay)
                if not self._refused(label, reply, decisive=False):
                    self._judge_trial(label, reply, expected, new, lies, decisive="replay")

    def _takes_turns(self, facts: dict, thorough: bool) -> bool:
        """May CTAs come in another order, and do it in a place that tells?"""
        if self.settings.simulate:
            return facts["simulated"]["takes_turns"]
        seen, is_quick = facts["interpreted"], facts["host_seconds"] < QUICK_INTERPRETER
        return thorough and is_quick and seen["launches"] > 0 and not seen["orders"]

    def _turned(self, first: Bundle) -> None:
        """CTAs that get to know by an atomic what others did before them: which come first is left open."""
        label, work = "the CTAs in the opposite order", self._working_copy(first)
        reply = self._call(label, work, "a", poison="nan", may_fail=True, launches="turned")
        if "bundle" in reply:
            self._judge_trial(label, reply, self.base, first, work, decisive="cta-order")

    def _worn(self, first: Bundle, work: values.Mapping) -> None:
        """The same values many times, then others in their place that PyTorch does not know of: a stored answer."""
        new, moved = self._varied(first, variations.warp)
        if not moved or self.call_seconds > WORN_SECONDS:
            return
        variations.rewrite(work, first)
        label = f"the same values {WORN} times, then new ones in the same memory (version counter unchanged)"
        before = self._call(label, work, "a", refresh="bumped", poison="nan", again=WORN)
        with suppress(ContractError):
            if same_outputs(self._reference(new, "varied")["native"], before["result"]):
                return
            variations.rewrite(work, new)
            after = self._call(label, work, "a", refresh="silent", poison="large", may_fail=True)
            if "bundle" in after and digest(after) == digest(before):
                seen = f"With {label} kernel_fn returned its previous result, bit for bit."
                self.outcome.add("replay", seen, self.case)

    def _own_inputs(self, first: Bundle) -> None:
        """New values in tensors that get_inputs made in kernel_fn's process."""
        new, moved = self._varied(first, variations.warp)
        if not moved:
            new, moved = self._other_inputs(first)
        if not moved:
            return
        try:
            expected = self._reference(new, "varied")
        except ContractError:
            return
        label, work = "new values in tensors that get_inputs made in the same process", self._working_copy(new)
        reply = self._call(label, work, "b", poison="nan", own=self.case, may_fail=True)
        if self._refused(label, reply, decisive=False) or not self._failed_quietly(reply, expected):
            return
        elsewhere = self._call("new values, fresh memory", self._working_copy(new), "c", poison="nan", may_fail=True)
        if not self._failed_quietly(elsewhere, expected):  # else it is wrong on these values, wherever they are
            seen = f"With {label} the result is wrong: {self._worst(reply, expected)}."
            self.outcome.add("own-inputs", seen, self.case)

    def _index_replay(self, first: Bundle) -> None:
        """Other integers, masks and numbers than a first call's, in a process that may die of them.

        Offsets, tables and sizes have rules that the judge does not know: only a result that stays, bit for bit, while
        the reference's changes counts against the kernel. Of flags and factors that the reference takes, a finite
        result must be right.
        """
        judge, others = self.judge, self.outcome.facts.setdefault("other_numbers", [])
        breakers = self.rule_breakers
        if not breakers and len(others) < MOST_OTHERS and (breakers := self._numbers(first)):
            others.append(self.case)
        if not breakers:
            return
        with suppress(worker.WorkerError, ContractError), judge.another_candidate(judge.interprets) as other:
            work = self._working_copy(first)
            before = self._ask_other(other, work.bundle, "a")
            for breaker in breakers if before is not None else ():
                if breaker.again:
                    self._ask_other(other, self._working_copy(first).bundle, "b")
                if breaker.check == "replay":
                    variations.rewrite(work, breaker.bundle)
                    after = self._ask_other(other, work.bundle, "a", refresh="bumped")
                else:
                    after = self._ask_other(other, (mapped := self._working_copy(breaker.bundle)).bundle, "b")
                    if after is not None and breaker.named:  # else the reference may not know that they are none
                        self._check_guards(f"with {breaker.what}", breaker.bundle, mapped)
                if after is None and breaker.named and not self.error.startswith(REFUSALS):
                    self.outcome.add("other-values", f"With {breaker.what} it fails: {self.error[:160]}.", self.case)
                self._tell_new_aliases(after, breaker)
                stays = after is not None and digest(before) == digest(after) and not (breaker.slip or breaker.known)
                wrong = self._wrong_with(after, replace(breaker, partly=False) if stays else breaker)
                if wrong and stays:
                    seen = f"With {breaker.what} kernel_fn returned {breaker.result}, bit for bit"
                    self.outcome.add(breaker.check, f"{seen}, where the reference's changes.", self.case)
                elif wrong and (breaker.decides or (breaker.advice and judge.paranoid)):
                    self.outcome.add("other-values", f"With {breaker.what} the result is wrong: {wrong}.", self.case)
                elif wrong and breaker.advice and not judge.paranoid:
                    seen = f"with {breaker.what} the result is wrong: {wrong}"
                    self.outcome.note(f"[case {self.case}] {seen}. {ADVICE}")
                elif wrong and breaker.twin and self._is_right_with(after, breaker.twin):
                    seen = f"With {breaker.what} the result is that of {breaker.instead}."
                    self.outcome.add("other-values", seen, self.case)

    def _tell_new_aliases(self, after: dict | None, breaker: RuleBreaker) -> None:
        """A result that is an input where there is nothing to do: a shift of nothing, a factor of one."""
        shared = set(after["facts"]["aliases"]) - set(self.base["aliases"]) if after else set()
        with suppress(ContractError):
            expected = self._reference(breaker.bundle, "aliases", golden=False) if shared else {"aliases": shared}
            for text in shared - set(expected["aliases"]) if not self.judge.mutates else ():
                self.outcome.add("aliasing", f"{text} (with {breaker.what}).", self.case)

    def _ask_other(self, other: worker.Worker, bundle: Bundle, slot: str, **options) -> dict | None:
        """One call in another process; None where it gave no result."""
        output = self.judge.new_file("out")
        request = {"slot": slot, "output": str(output), "expected_nbytes": self.output_nbytes, **options}
        reply = other.call("call", self.patience, bundle=bundle.to_json(), **request)
        self.error = str(reply.get("error") or reply.get("cheat") or reply.get("problem") or "")
        if "bundle" not in reply:
            return None
        self._take_result(reply, output, "other integers or numbers")
        return reply

    def _wrong_with(self, after: dict | None, breaker: RuleBreaker) -> str:
        """What is wrong with a result, if that counts; nothing where kernel or reference does not take the inputs."""
        if after is None:
            return ""
        self.conditioned = breaker.slip  # wide integers leave less to the rounding of what is made of them
        try:
            expected = self._reference(breaker.bundle, "varied", roundings=breaker.slip, own=True)
            is_finite = breaker.openly or all(bool(torch.isfinite(t).all()) for t in floats(after["result"]))
            is_taken = is_finite and as_finite(expected, self.base) and (not breaker.zeros or self._has_zeros(expected))
            if not is_taken or not self._failed_quietly(after, expected):
                return ""
            if breaker.nearly and not self._nearly_right(after, expected):
                return ""
            if breaker.partly and not self._is_partly_right(after, expected):
                return ""
            is_misread = breaker.codes and self._is_mostly_right(after, expected)
            if breaker.slip and not is_misread and not self._is_slip(after, expected):
                return ""
            return self._worst(after, expected)
        except ContractError:
            return ""
        finally:
            self.conditioned = False

    def _is_right_with(self, after: dict, bundle: Bundle) -> bool:
        with suppress(ContractError):
            return not self._failed_quietly(after, self._reference(bundle, "twin", own=True))
        return False

    def _has_zeros(self, expected: dict) -> bool:
        """Are a sixteenth of the reference's answer zeros, more than on the first inputs?"""
        now, before = (sum(int((t == 0).sum()) for t in floats(e["native"])) for e in (expected, self.base))
        return now - before >= sum(t.numel() for t in floats(expected["native"])) / 16 > 0

    def _is_slip(self, reply: dict, expected: dict) -> bool:
        pairs = list(zip(tensors(reply["result"]), tensors(expected["native"]), strict=False))
        whole = [(y, n) for y, n in pairs if not (n.dtype.is_floating_point or n.dtype.is_complex)]
        if len(whole) < len(pairs):
            return self._nearly_right(reply, expected)
        return all(y.shape == n.shape and (torch.equal(y, n) or integers.is_slip(y, n)) for y, n in whole)

    def _is_mostly_right(self, reply: dict, expected: dict) -> bool:
        return all(c.wrong <= MISREAD * c.total for c in self._comparisons(reply["result"], expected))

    def _is_partly_right(self, reply: dict, expected: dict) -> bool:
        return all(c.wrong <= (1 - PART) * c.total for c in self._comparisons(reply["result"], expected))
