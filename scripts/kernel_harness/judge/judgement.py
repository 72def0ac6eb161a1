"""One call and its judgement: inputs, references and results as files; values, structure, memory and ordering."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import torch

from .. import values
from ..api import compile_errors
from ..comparison import compare, contraction, diagnosis
from ..comparison.compare import Comparison, Expected, Tolerance
from ..comparison.structure import (
    bits_equal,
    matching,
    only_where_same,
    owner_of,
    part_of,
    rms,
    scalars,
    shape_problem,
    structure_problem,
    tensors,
)
from ..contract import ContractError
from ..inputs import variations
from ..values import Bundle
from .outcome import Stop

NULL_LIMIT_ELEMENTS = 1 << 22
GPU_COMPARE_ELEMENTS = 1 << 16
TELLING_INTEGERS = 8
FLOAT64_ROUNDING = 2.0**-53
FEW_WRONG, SHARE_TIPPED = 2, 1e-3  # elements that a rounding of the reference may have decided
INDEX_DTYPES = (torch.int64, torch.int32, torch.int16, torch.uint8)
REFUSALS = ("ValueError", "AssertionError", "NotImplementedError", "LinAlgError", "_LinAlgError")


class CaseJudge:
    """Runs the oracle and the candidate on one case and judges what comes back."""

    def __init__(self, judge, case: str, thorough: bool, bench: bool = False):
        self.judge, self.case, self.thorough, self.bench = judge, case, thorough, bench
        self.outcome, self.settings = judge.outcome, judge.settings
        self.patience = judge.settings.timeout  # seconds that a call in another process may take
        self.previous: list[torch.Tensor] = []
        self.output_nbytes: list[int] = []
        self.conditioned = False
        self.has_choices = True  # until the reference is known to have no order of equal values to choose
        self.hides_choice = False  # the last answer that was wrong depends on such an order without showing it
        self.call_seconds = 0.0  # of the last call that was judged
        self.base: dict = {}  # the reference's answer on the first inputs
        self.refused: set = set()  # changes of values that the reference does not take in this case

    def case_failed(self) -> bool:
        return any(f.case == self.case for f in self.outcome.findings)

    # --- calls ---

    def _inputs(self, label: str, seed: int | None = None) -> Bundle:
        judge = self.judge
        asked = {"case": self.case, "seed": seed or judge.next_seed(), "bench": self.bench}
        reply = judge.ask_oracle("inputs", file=str(judge.new_file("inputs")), **asked)
        if "needs_gpu" in reply:
            self.outcome.needs_gpu = reply["needs_gpu"]
            raise Stop
        if "contract" in reply:
            raise ContractError(
                f"{self.settings.kernel}: {_case(self.case)}{reply['contract']}", reply.get("detail", "")
            )
        self.device = reply["device"]
        return Bundle.from_json(reply["bundle"])

    def _working_copy(self, bundle: Bundle) -> values.Mapping:
        return values.Mapping(variations.copy(bundle, self.judge.new_file("work")))

    def _varied(self, bundle: Bundle, change, only=None, kinds="float") -> tuple[Bundle, bool]:
        """A copy of a case's first inputs with changed values, and whether anything moved."""
        if change in self.judge.refused | self.refused:
            return self._other_inputs(bundle) if change is variations.warp and only is None else (bundle, False)
        return variations.varied(bundle, self.judge.new_file("varied"), change, self.judge.next_seed(), only, kinds)

    def _other_inputs(self, first: Bundle) -> tuple[Bundle, bool]:
        other = self._inputs("other values")
        if not variations.same_layout(first, other):
            return first, False
        a, b = values.Mapping(first, writable=False), values.Mapping(other, writable=False)
        return other, any(not torch.equal(a.bytes_of(i), b.bytes_of(i)) for i in range(len(first.spans)))

    def _reference(self, bundle: Bundle, label: str, own: bool = False, **how) -> dict:
        """The reference's results on ``bundle``, mapped; their files are gone from the folder when this returns.

        own: the values are the judge's, so a reference whose precisions disagree on them does not take them. how: what
        oracle.reference takes (golden, roundings, ties, tipped, choices).
        """
        judge = self.judge
        reply = judge.ask_oracle(
            "reference",
            bundle=bundle.to_json(),
            folder=str(judge.folder),
            name=judge.new_file("reference").name,
            **how,
        )
        if "needs_gpu" in reply or "contract" in reply:
            if reply.get("lost"):
                judge.renew_oracle()
            text = reply.get("contract") or reply["needs_gpu"]
            raise ContractError(f"{self.settings.kernel}: {_case(self.case)}{text}", reply.get("detail", ""))
        undeclared = [i for i in reply["mutated"] if i not in self.judge.mutates]
        if undeclared:
            self.outcome.add(
                "reference-mutation",
                f"reference_fn changes input {', '.join(map(str, undeclared))} in place.",
                self.case,
            )
        if reply["replaced"]:
            self.outcome.add("tampering", f"reference_fn replaced {', '.join(reply['replaced'][:5])}.", self.case)
        kept = {key: reply[key] for key in ("trace", "mutated", "aliases", "is_free", "is_hidden")}
        answer = {**kept, "golden": None, "moved": None, "bundle": bundle}
        for kind in ("native", "golden", "moved"):
            if kind in reply:
                answer[kind] = values.Mapping(Bundle.from_json(reply[kind]), writable=False)
                Path(reply[kind]["file"]).unlink()
        if not self.conditioned:  # hostile values may be out of the reference's own range
            self._check_reference(answer, own)
        return answer

    def _check_reference(self, answer: dict, own: bool) -> None:
        golden = matching(answer["golden"], answer["native"])
        if golden is None:
            return
        moved = matching(answer["moved"], answer["native"])
        for path, _ in values.tensors_of(answer["native"].bundle.tree["items"]["result"]):
            native, wide = (part_of(m, "result", path) for m in (answer["native"], golden))
            share = compare.reference_deviation(native, wide, part_of(moved, "result", path) if moved else None)
            if share > 0.25:
                seen = "On float64 inputs reference_fn gives another answer than on the inputs as they are"
                if own:
                    raise ContractError(seen)
                seen += f", at {100 * share:.0f} % of output {path} ({native.dtype})."
                self.outcome.add("unstable-reference", seen, self.case)

    def _call(self, label: str, work: values.Mapping, slot: str, may_fail: bool = False, **options) -> dict:
        judge = self.judge
        place = f" ({judge.planned.index(self.case) + 1} of {len(judge.planned)})" if self.case in judge.planned else ""
        judge.progress(f"{self.case}{place}: {label}")
        output = judge.new_file("out")
        reply = judge.ask_candidate(
            "call",
            self.case,
            bundle=work.bundle.to_json(),
            slot=slot,
            output=str(output),
            expected_nbytes=self.output_nbytes,
            **options,
        )
        if "bundle" in reply:
            self._take_result(reply, output, label)
            judge.process_facts(reply["facts"], self.case)
        elif not may_fail:
            self._no_result(label, reply)
        return reply

    def _take_result(self, reply: dict, output: Path, label: str) -> None:
        """Map the result; whatever the candidate says, it is this file and no other."""
        try:
            reply["result"] = values.Mapping(Bundle.from_json({**reply["bundle"], "file": str(output)}), writable=False)
            tensors(reply["result"])
        except (KeyError, TypeError, ValueError, OSError, RuntimeError) as error:
            self.outcome.add("forged-channel", f"The result ({label}) does not read: {error}.", self.case)
            raise Stop from None
        output.unlink()

    def _refused(self, label: str, reply: dict, decisive: bool) -> bool:
        """Did kernel_fn refuse the judge's own values (REFUSALS)? Any other failure is the kernel's."""
        if "bundle" in reply:
            return False
        if not str(reply.get("error", "")).startswith(REFUSALS):
            self._no_result(label, reply)
        if decisive:
            self.outcome.add("refuses", f"{reply['error'][:200]} ({label}).", self.case)
        else:
            self.outcome.note(f"[case {self.case}] refuses {label}: {reply['error'][:160]}")
        return True

    def _no_result(self, label: str, reply: dict) -> None:
        if reply.get("kind") == "unsupported":
            self.outcome.needs_gpu = f"[case {self.case}] the simulator cannot run it: {reply['error']}"
        elif reply.get("no_gpu"):
            self.outcome.needs_gpu = reply["error"]
        elif "cheat" in reply:
            self.outcome.add("reference-called", reply["cheat"] + ".", self.case)
        elif "problem" in reply:
            self.outcome.add(reply["check"], reply["problem"] + ".", self.case)
        elif reply["kind"] == "exit" and reply["exit_code"] == 0:
            self.outcome.add("exit", f"kernel_fn raised SystemExit(0) ({label}).", self.case)
        else:
            check = "compile" if reply["kind"] == "compile" else "crash"
            advice = compile_errors.advice(reply["error"])
            said = f"kernel_fn raised {reply['error']} ({label}).{' ' + advice if advice else ''}\n{reply['detail']}"
            self.outcome.add(check, said, self.case)
        raise Stop

    def _judge_trial(
        self, label: str, reply: dict, expected: dict, source: Bundle, work: values.Mapping, decisive: str
    ) -> None:
        """Values, structure, inputs, guard zones and ordering of one call that returned."""
        if "bundle" not in reply:
            return
        facts = reply["facts"]
        self.call_seconds = facts["host_seconds"]
        result = reply["result"]
        tree = result.bundle.tree["items"]["result"]
        wanted = expected["native"].bundle.tree["items"]["result"]
        problem = structure_problem(tree, wanted)
        if problem:
            self.outcome.add("structure", problem, self.case)
            raise Stop
        problem = shape_problem(tree, wanted)
        if problem:
            self.outcome.add("shape", problem, self.case)
            raise Stop
        self.outcome.facts["numbers"] = bool(scalars(wanted))
        if facts["deferred"]:
            # Work on the legacy stream is late for a side stream's caller: a mistake, no attempt to hide time.
            check = "stream" if decisive == "stream" else "deferred"
            self.outcome.add(check, f"The result ({label}) changed after kernel_fn had returned.", self.case)
        self._check_memory(label, facts, source, work, expected)
        # A wrong index is what makes the numbers beside it wrong: the first reason is the one that is told.
        for comparison in sorted(self._comparisons(result, expected), key=lambda c: "float" in c.dtype):
            self.outcome.comparisons.append({"case": self.case, "trial": label, **comparison.to_json()})
            if not comparison.passed:
                self.outcome.add(decisive, diagnosis.wrong_text(label, comparison), self.case)
        self.previous = [t.clone() for t in tensors(result) if t.numel() <= NULL_LIMIT_ELEMENTS] or self.previous

    def _check_memory(self, label: str, facts: dict, source: Bundle, work: values.Mapping, expected: dict) -> None:
        wanted = expected["native"].bundle.tree["items"]["result"]
        expanded = {
            tuple(t["shape"])
            for _, t in values.tensors_of(wanted)
            if any(n > 1 and s == 0 for n, s in zip(t["shape"], t["stride"], strict=True))
        }
        for text in set(facts.get("aliases", ())) - set(expected["aliases"]):  # what the reference does, too, is meant
            if not ("expanded" in text and expanded):
                self.outcome.add("aliasing", f"{text} ({label}).", self.case)
        original = values.Mapping(source, writable=False)
        # A reference that works in place says which of the declared inputs change; one that does not leaves it open.
        may_change = set(expected["mutated"]) or self.judge.mutates
        allowed = {
            t["storage"]
            for i in may_change
            if i < len(source.tree["items"])
            for _, t in values.tensors_of(source.tree["items"][i])
        }
        for index in range(len(source.spans)):
            changes = original.bytes_of(index) != work.bytes_of(index)
            if index in allowed and bool(changes.any()):  # views of one buffer, of which some may change
                changes &= values.bytes_of_others(source.tree["items"], index, may_change, len(changes))
            changed = int(changes.sum())
            if changed:
                owner = owner_of(source.tree, index, may_change)
                self.outcome.add(
                    "input-mutation", f"kernel_fn changed {changed} bytes of input {owner} ({label}).", self.case
                )
        # A step below a rounding changes nothing, in the reference as well: what is declared may be written.
        for index in set(facts.get("written", ())) - may_change - set(self.judge.mutates):
            is_tensor = source.tree["items"][index]["kind"] == "tensor"
            how = "wrote to {} in place and put back what was there" if is_tensor else "changed {}, a list or dict"
            self.outcome.add("input-mutation", f"kernel_fn {how.format(f'input {index}')} ({label}).", self.case)
        self._check_guards(label, source, work)

    def _check_guards(self, label: str, source: Bundle, work: values.Mapping) -> None:
        for index, side, guard in work.guards():
            hit = (guard != values.guard_pattern(index)).nonzero()
            if hit.numel():
                distance = values.GUARD_BYTES - int(hit[-1]) if side == "before" else int(hit[0]) + 1
                place = f"{side} input {owner_of(source.tree, index)}, {distance} bytes outside"
                self.outcome.add("guard-zone", f"kernel_fn wrote {hit.numel()} bytes {place} ({label}).", self.case)

    def _comparisons(self, result: values.Mapping, expected: dict) -> list[Comparison]:
        """How each output compares. Where few elements are wrong, those that the reference itself decides by a hair
        are forgiven: a value that it rounds to a step, a draw beside a threshold may fall on either side of it."""
        outcomes = self._compared(result, expected)
        chosen = None if all(c.passed for c in outcomes) else self._with_choices(result, expected)
        if chosen:
            expected, outcomes = chosen, self._compared(result, chosen)
        few = all(c.wrong <= max(FEW_WRONG, c.total * SHARE_TIPPED) or c.may_be_tipped for c in outcomes)
        if all(c.passed for c in outcomes) or not few or expected["golden"] is None:
            return outcomes
        if "tipped" not in expected:
            with suppress(ContractError):
                expected["tipped"] = self._reference(expected["bundle"], "tipped", tipped=True)["moved"]
        tipped = matching(expected.get("tipped"), expected["native"])
        return self._compared(result, expected, tipped) if tipped else outcomes

    def _with_choices(self, result: values.Mapping, expected: dict) -> dict | None:
        """The reference's answer in the kernel's order of equal values, if it leaves that order open (choices.py)."""
        integers = [t for t in tensors(result) if t.dtype in INDEX_DTYPES and t.numel()]
        if not integers or not self.has_choices:
            return None
        file, chosen = self.judge.new_file("choices"), None
        with suppress(ContractError):
            chosen = self._reference(expected["bundle"], "chosen", choices=values.save(integers, file).to_json())
            self.has_choices, self.hides_choice = chosen["is_free"], chosen["is_hidden"]
        file.unlink()
        return chosen if self.has_choices else None

    def _compared(
        self,
        result: values.Mapping,
        expected: dict,
        tipped: values.Mapping | None = None,
        elsewhere: values.Mapping | None = None,
    ) -> list[Comparison]:
        """elsewhere: the reference's results on other inputs, where they count only as far as they are the same."""
        native = expected["native"]
        anchors = {kind: matching(expected[kind], native) for kind in ("golden", "moved")}
        nodes = [node for _, node in values.tensors_of(expected["bundle"].tree)]
        vanishing = FLOAT64_ROUNDING * values.largest(expected["bundle"]) if self.conditioned else 0.0
        outcomes = []
        kernel_tree = result.bundle.tree["items"]
        for part in ("result", "mutated"):
            wanted = dict(values.tensors_of(native.bundle.tree["items"][part]))
            got = dict(values.tensors_of(kernel_tree.get(part, {"kind": "dict", "items": {}})))
            if part == "result":
                got = dict(zip(wanted, (node for _, node in values.tensors_of(kernel_tree["result"])), strict=True))
            for path, node in wanted.items():
                if path not in got:
                    continue  # an undeclared mutation of the reference: its returned result is what counts
                if node["shape"] != got[path]["shape"] or node["dtype"] != got[path]["dtype"]:
                    continue
                tensors = {kind: part_of(mapping, part, path) if mapping else None for kind, mapping in anchors.items()}
                sizes = contraction.sizes(nodes, math.prod(node["shape"]))
                target = Expected(part_of(native, part, path), **tensors, **sizes, vanishing=vanishing)
                name = path if part == "result" else f"input {path} after the call"
                y = values.rebuild(got[path], result.bytes_of)
                if elsewhere:
                    y = only_where_same(y, target.native, part_of(elsewhere, part, path))
                if tipped:
                    y = compare.forgiven(y, target, part_of(tipped, part, path))
                outcomes.append(
                    compare.compare(name, y, target, self._tolerance(target), self._compare_device(y), self.conditioned)
                )
        return outcomes

    def _tolerance(self, target: Expected) -> Tolerance | None:
        settings = self.settings
        if settings.rtol is not None or settings.atol is not None:
            return Tolerance(settings.rtol or 0.0, settings.atol or 0.0)
        declared = self.judge.declared["tolerance"]
        if declared is None:
            return None
        scale = rms(target.golden if target.golden is not None else target.native)
        tolerance = compare.clipped_file_tolerance(declared, target.native.dtype, scale)
        if tolerance and tolerance.or_rule:
            self.outcome.note(
                f"TOLERANCE {declared} is looser than {target.native.dtype} allows a file: judged by the ceiling or by "
                "the rule, whichever accepts more. Pass --rtol and --atol to accept still more"
            )
        return replace(tolerance, or_rule=True) if tolerance and self.conditioned else tolerance

    @staticmethod
    def _compare_device(tensor: torch.Tensor) -> str:
        return "cuda" if tensor.numel() > GPU_COMPARE_ELEMENTS and torch.cuda.is_available() else "cpu"

    # --- questions about a reply ---

    def _failed_quietly(self, reply: dict, expected: dict) -> bool:
        if "bundle" not in reply:
            return False
        if not self._has_structure(reply, expected):
            return True
        return any(not c.passed for c in self._comparisons(reply["result"], expected))

    @staticmethod
    def _has_structure(reply: dict, expected: dict) -> bool:
        tree, wanted = (m.bundle.tree["items"]["result"] for m in (reply["result"], expected["native"]))
        return not (structure_problem(tree, wanted) or shape_problem(tree, wanted))

    def _worst(self, reply: dict, expected: dict) -> str:
        result = reply["result"]
        failed = [c for c in self._comparisons(result, expected) if not c.passed]
        return diagnosis.numbers(failed[0]) if failed else "its shape differs"

    def _is_previous(self, reply: dict) -> bool:
        """Is this the result before, bit for bit? A few integers may come again by chance, and tell nothing."""
        now = tensors(reply["result"])
        if sum(t.numel() for t in now) < TELLING_INTEGERS and not any(t.dtype.is_floating_point for t in now):
            return False
        pairs = zip(now, self.previous, strict=False)
        return len(now) == len(self.previous) > 0 and all(
            a.shape == b.shape and a.dtype == b.dtype and bits_equal(a, b) for a, b in pairs
        )


def _case(name: str) -> str:
    return "" if name == "default" else f"case {name}: "
