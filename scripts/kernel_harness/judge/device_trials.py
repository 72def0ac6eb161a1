"""Trials that only a GPU can make: other streams, late inputs, CUDA graphs, those without the file's kernels, and a
second GPU."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace

import torch

from .. import values
from ..comparison import compare
from ..contract import ContractError
from ..inputs import variations
from ..inputs.arguments import other_arguments
from ..processes.worker import Worker, WorkerError
from ..values import Bundle
from .simulated_trials import SimulatedTrials

SECOND = "on a second GPU"
BENCH_BYTES = {"interpreted": 2**24, "cpu": 2**29, "cuda": 2**29}  # of inputs; a larger BENCH_CASE is left out,
FAR_BYTES, MOST_FAR_BYTES = 2**31, 2**33  # but for that with a tensor of which 32 bits do not address all
ONE_CALL_BYTES = {"cpu": 2**24, "cuda": 2**29}  # a larger BENCH_CASE is called once
COPIES = 4  # of inputs that memory must hold
UNJOINED = "unjoined work"  # cudaErrorStreamCaptureUnjoined


def warm_up() -> None:
    """Make this process's CUDA context and load the kernels of a comparison, while the workers import the file."""
    x = torch.ones(1024, dtype=torch.bfloat16)
    with suppress(RuntimeError, AssertionError):  # a GPU that does not work is reported by whom it fails
        compare.compare("", x, compare.Expected(x, x.double(), x.double()), device="cuda")


class DeviceTrials(SimulatedTrials):
    """Trials of the order of work on the device, and of whose work it is."""

    def _is_left_out(self, first: Bundle) -> bool:
        """Is a BENCH_CASE too large?"""
        where = "cuda" if self.device != "cpu" else "interpreted" if self._interprets_triton() else "cpu"
        if first.size <= BENCH_BYTES[where]:
            return False
        is_far = where == "cuda" and max(span.nbytes for span in first.spans) > FAR_BYTES
        return not (is_far and first.size <= MOST_FAR_BYTES and COPIES * first.size <= self._room())

    def _room(self) -> int:
        """Bytes that are free both on the device and where tensors are handed over."""
        return min(torch.cuda.mem_get_info()[0], shutil.disk_usage(self.judge.folder).free)

    def _is_called_once(self, first: Bundle) -> bool:
        """Is a BENCH_CASE so large, with what comes of it, that its first call is judged and no other?"""
        return first.size + sum(self.output_nbytes) > ONE_CALL_BYTES["cuda" if self.on_gpu else "cpu"]

    def _streams(self, first: Bundle) -> None:
        for kind, label in (("side", "on a side stream"), ("slow", "behind a slow producer on a side stream")):
            # Integers, too, must be new where they arrive late: the last call's would be right by chance.
            new, moved = self._other_inputs(first) if kind == "slow" else (first, False)
            new = new if moved else self._varied(first, variations.warp)[0]
            work = self._working_copy(new)
            reply = self._call(label, work, "b", poison="nan", stream=kind)
            expected = self._reference(new, "varied")
            self._judge_trial(label, reply, expected, new, work, decisive="stream")

    def _queued(self, first: Bundle) -> None:
        """A call whose numbers on the host are others, behind one that has not begun on the device: what a call copies
        from memory that it keeps on the host must not be the next one's."""
        others = (other for other in other_arguments(first) if isinstance(other.old, list))
        other = next((other for other in others if self._moves(other.bundle)), None)
        if other is None:
            return
        label = "behind a slow producer, before a call with other numbers in its lists"
        work, then = self._working_copy(first), self._working_copy(other.bundle).bundle.to_json()
        reply = self._call(label, work, "b", may_fail=True, poison="nan", stream="slow", then=then)
        if "bundle" in reply:
            self._judge_trial(label, reply, self.base, first, work, decisive="stream")

    def _graph(self, first: Bundle) -> None:
        # A capture takes the value of a scalar on the CPU for good: only what lies on the GPU changes.
        nodes = [[node for _, node in values.tensors_of(item)] for item in first.tree["items"]]
        on_gpu = {index for index, found in enumerate(nodes) if all(node["device"] != "cpu" for node in found)}
        new, _ = self._varied(first, variations.warp, only=on_gpu)
        work, fresh = self._working_copy(first), self._working_copy(new)
        output = self.judge.new_file("out")
        reply = self.judge.ask_candidate(
            "graph", self.case, bundle=work.bundle.to_json(), slot="c", output=str(output), fresh=fresh.bundle.to_json()
        )
        if "not_capturable" in reply:
            if UNJOINED in reply["not_capturable"]:
                self.outcome.add(
                    "stream",
                    "In a CUDA graph capture the call leaves work on another stream that the current stream does not "
                    "wait for: whoever reads the result may be early.",
                    self.case,
                )
            self.outcome.note(f"[case {self.case}] cannot be captured in a CUDA graph: {reply['not_capturable']}")
            self.judge.capturable, self.judge.spoiled = False, True
            if self.thorough:
                self._without_waits(first, on_gpu)
            return
        if "bundle" not in reply:
            self._no_result("in a CUDA graph", reply)
        self._take_result(reply, output, "in a CUDA graph")
        kernels = reply.get("kernels")
        launches = None if kernels is None else sum(row["launches"] for row in kernels)
        self.outcome.facts.setdefault("graph_kernel_nodes", launches)
        expected = self._reference(new, "varied")
        if "bundle" in reply and self._failed_quietly(reply, expected):
            recorded = f" (the graph holds {launches} kernel nodes)" if launches is not None else ""
            self.outcome.add(
                "graph",
                f"Replayed in a CUDA graph on new inputs the result is wrong{recorded}: "
                f"{self._worst(reply, expected)}.",
                self.case,
            )
        elif kernels and self.thorough:
            self._census({"kernels": self.outcome.facts.get("kernels") or kernels})
            self._without_own_kernels(first, kernels, on_gpu)

    def _without_waits(self, first: Bundle, on_gpu: set[int]) -> None:
        """A call that waits for the device cannot be captured. Where a library takes part it is, without the waits: not
        to judge a replay, but to ask whose kernels compute the result."""
        if len({row["library"] for row in self.outcome.facts.get("kernels") or ()}) < 2:
            return
        self.judge.renew_candidate()
        self.judge.progress(f"{self.case}: captured without its waits")
        request = {"bundle": self._working_copy(first).bundle.to_json(), "slot": "c", "waits": False}
        try:
            reply = self.judge.candidate.call("graph", self.settings.timeout, **request)
        except WorkerError:  # it waits for something else, for ever
            self.judge.replace_candidate()
            return
        self.judge.spoiled = "not_capturable" in reply
        self.outcome.facts["captured_without_waits"] = not self.judge.spoiled
        if reply.get("kernels"):
            self._without_own_kernels(first, reply["kernels"], on_gpu)

    def _without_own_kernels(self, first: Bundle, kernels: list[dict], on_gpu: set[int]) -> None:
        """Where a library takes part: is the result right without the file's kernels? One for show may be slow."""
        own = [row["name"] for row in kernels if not row["library"]]
        if not own or len(own) == len(kernels):
            return
        new, moved = self._varied(first, variations.warp, only=on_gpu)
        if not moved:
            return
        work, output = self._working_copy(new), self.judge.new_file("out")
        self.judge.progress(f"{self.case}: without its own kernels")
        self.judge.recheck()  # while it can answer: without its kernels the rest may fault and end the CUDA context
        request = {"slot": "c", "output": str(output), "fresh": work.bundle.to_json(), "disabled": own}
        try:
            reply = self.judge.candidate.call("ablate", self.settings.timeout, **request)
        except WorkerError as error:
            reply = {"error": str(error)}
        if "bundle" not in reply:
            self.outcome.facts["without_own_kernels"] = reply.get("error", "no result")
            self.judge.replace_candidate()
            return
        self._take_result(reply, output, "without its own kernels")
        wrong = self._failed_quietly(reply, self._reference(new, "varied"))
        self.outcome.facts["without_own_kernels"] = "wrong" if wrong else "right"
        if not wrong:
            library = next(row["name"] for row in kernels if row["library"])
            self.outcome.add(
                "decoy",
                f"With the file's own kernels switched off ({', '.join(name[:80] for name in own[:3])}) the result "
                f"is right all the same: the library's kernels ({library[:80]}) compute it.",
                self.case,
            )

    def _second_device(self, process: Worker, first: Bundle, expected: dict) -> None:
        """Call the kernel in ``process`` with the first inputs, and PyTorch's current device, on GPU 1.

        What a kernel keeps from GPU 0 (a workspace, a loaded module, a stream) shows here. A file may be meant for one
        GPU, so only ``--level paranoid`` lets this decide; ``process`` is asked nothing afterwards.
        """
        if torch.cuda.device_count() < 2:
            return
        work, output = self._working_copy(first).bundle.to_json(), self.judge.new_file("out")
        work["spans"] = [[*place, device if device == "cpu" else "cuda:1"] for *place, device in work["spans"]]
        request = {"bundle": work, "slot": "b", "output": str(output), "expected_nbytes": self.output_nbytes}
        self.judge.progress(f"{self.case}: {SECOND}")
        try:
            reply = process.call("call", self.settings.timeout, **request)
        except WorkerError as error:
            reply = {"error": str(error)}
        if "bundle" in reply:
            self._take_result(reply, output, SECOND)
            seen = self._worst(reply, expected) if self._failed_quietly(reply, expected) else ""
        else:
            seen = f"kernel_fn raises {str(reply.get('error', 'nothing'))[:200]}"
        self.outcome.facts["second_device"] = seen or "right"
        if seen and self.judge.paranoid:
            self.outcome.add("second-device", f"With its inputs {SECOND}: {seen}.", self.case)
        elif seen:
            self.outcome.note(f"[case {self.case}] {SECOND}: {seen}; --level paranoid makes this decide")

    def right_without_launches(self) -> bool:
        """Is the result right where the simulator runs nothing of what the file launches?"""
        new = self._inputs("without launches")
        work, output = self._working_copy(new), self.judge.new_file("out")
        request = {"bundle": work.bundle.to_json(), "slot": "c", "output": str(output), "launches": "idle"}
        try:
            expected = self._reference(new, "seed")
            # A result that depends on sizes alone may lie in the memory that the next one gets.
            sizes = [span.nbytes for span in expected["native"].bundle.spans]
            request |= {"poison": "large", "expected_nbytes": sizes}
            reply = self.judge.candidate.call("call", self.settings.timeout, **request)
        except (WorkerError, ContractError):  # the file may wait for what its kernels write
            return False
        if "bundle" not in reply:
            return False
        self._take_result(reply, output, "without launches")
        return not self._failed_quietly(reply, expected)

    def _copies(self, first: Bundle) -> None:
        """Where kernels of the file and of a library take part: do the file's only copy what the library computed?"""
        if len({row["library"] for row in self.outcome.facts.get("kernels") or ()}) == 2:
            self.judge_copies(first)

    def judge_copies(self, first: Bundle) -> None:
        if operator := self._copied_from(first):
            what = f"{operator} of PyTorch computes the result, and the kernels copy it."
            self.outcome.add("decoy", what, self.case)

    def _copied_from(self, first: Bundle) -> str:
        """The operator of PyTorch that computes the result of a file whose own kernels copy it; or nothing.
        Not asked where something among the inputs may say that there is nothing to do: a mask all alike, a number 0 or
        1. A switch may say so, too, and is turned."""
        new, moved = self._varied(first, variations.warp)
        if not moved:
            return ""
        nodes, mapping = new.tree["items"], values.Mapping(new, writable=False)
        operator = self._operator_copied(new, tells=True)
        numbers = [node for node in nodes if node["kind"] in ("int", "float") and node["value"] in (0, 1)]
        masks = [t for node in nodes for _, t in values.tensors_of(node) if t["dtype"] == "bool"]
        if numbers or any(values.rebuild(mask, mapping.bytes_of).unique().numel() < 2 for mask in masks):
            return ""
        for at, node in enumerate(nodes if operator else ()):
            if node["kind"] == "bool":
                turned = {**node, "value": not node["value"]}
                other = replace(new, tree={**new.tree, "items": [*nodes[:at], turned, *nodes[at + 1 :]]})
                if self._operator_copied(other) == "":
                    return ""
        return operator or ""

    def _operator_copied(self, new: Bundle, tells: bool = False) -> str | None:
        """The same for one call; None where there is no result to judge. tells: of products that PyTorch computes."""
        try:
            expected = self._reference(new, "varied")
            self.output_nbytes = [span.nbytes for span in expected["native"].bundle.spans]
            reply = self._call("a library's result?", self._working_copy(new), "b", may_fail=True, witness=True)
        except (WorkerError, ContractError):
            return None
        if "bundle" not in reply:
            return None
        if tells and (products := reply["facts"]["products"]):
            share = self.outcome.facts.get("own_share")
            how = f"the file's own kernels take {share:.0%} of the device time" if share is not None else (
                "on a GPU a library's kernels do, whose share of the time is told there")
            self.outcome.note(f"[case {self.case}] PyTorch computes a part, {', '.join(products)}: {how}")
        return "" if self._failed_quietly(reply, expected) else reply["facts"]["copied"]


def ask_without_launches(judge) -> None:
    """The last question to a simulated file, whose own state may be lost afterwards: does PyTorch do the work?"""
    cases = judge.outcome.facts.get("simulated_cases", ())
    if not judge.outcome.findings and cases and all(_right(judge, case) for case in cases):
        judge.outcome.add("decoy", "With nothing that the file launches the result is right all the same.", cases[0])
    if cases and not judge.outcome.findings:
        trials = DeviceTrials(judge, cases[0], thorough=False)
        trials.judge_copies(trials._inputs("copied"))


def _right(judge, case: str) -> bool:
    return DeviceTrials(judge, case, thorough=False).right_without_launches()
