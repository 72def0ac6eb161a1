"""What the calls say about the file: an independent reference, kernels of its own, a comparison with teeth."""

from __future__ import annotations

import math

from .. import values
from ..comparison import compare
from ..comparison.compare import Expected
from ..comparison.null_kernels import COPY, null_results
from ..comparison.structure import bits_equal, matching, part_of
from ..values import Bundle
from .judgement import NULL_LIMIT_ELEMENTS, CaseJudge


class FileChecks(CaseJudge):
    """Checks of the file rather than of a result."""

    def _circular(self, reference: dict, kernel: dict | None) -> None:
        if not kernel:
            return
        # A helper that only puts together what kernel_fn computed is no reference of it.
        shared = set(reference["returns"]) & set(kernel["given"])
        if shared and self.settings.reference is None:
            self.outcome.add(
                "circular-reference",
                "kernel_fn and reference_fn both return what the same function of the "
                f"file computes ({', '.join(sorted(shared))}).",
                self.case,
            )
        if set(reference["bodies"]) & set(kernel["compiled"]) and self.settings.reference is None:
            seen = "kernel_fn runs the code of reference_fn, compiled once more from a string."
            self.outcome.add("circular-reference", seen, self.case)
        native = set(reference["native"]) & set(kernel["native"])
        if native and self.settings.reference is None:
            self.outcome.add(
                "circular-reference",
                f"kernel_fn and reference_fn call the same extension module ({', '.join(sorted(native))}).",
                self.case,
            )
        self.outcome.facts["launched"] = kernel["dsl"] or self.outcome.facts.get("launched")

    def _census(self, facts: dict) -> None:
        kernels = facts.get("kernels")
        defined = self.outcome.facts.get("kernels_defined")
        if kernels is None:
            if self.thorough and not self.on_gpu and not self.outcome.facts.get("launched"):
                self.outcome.facts["own_kernels"] = False
                if defined:
                    self.outcome.add(
                        "decoy",
                        f"The file defines {', '.join(defined[:3])}, but kernel_fn launched no kernel of its own.",
                        self.case,
                    )
            elif facts.get("products") and self.outcome.facts.get("launched") and not self.on_gpu:
                self.outcome.note(f"[case {self.case}] beside the file's own kernel PyTorch computes a product "
                                  f"({', '.join(facts['products'])}): on a GPU that is a library's kernel")
            return
        timed = [row for row in kernels if row["us"] is not None]  # not those of a graph's nodes
        total = sum(row["us"] for row in timed) or 1.0
        own = sum(row["us"] for row in timed if not row["library"])
        self.outcome.facts["kernels"] = kernels
        self.outcome.facts["own_share"] = own / total if timed else None
        if not kernels and any(self.output_nbytes):
            self.outcome.note(f"[case {self.case}] no GPU kernel ran during the call")
        elif kernels and defined and all(row["library"] for row in kernels):
            self.outcome.add(
                "decoy",
                f"The file defines {', '.join(defined[:3])}, but kernel_fn launches a library's alone "
                f"({kernels[0]['name'][:80]}).",
                self.case,
            )
        elif any(row["library"] for row in timed) and own / total < 0.5:
            self.outcome.note(
                f"{100 * (1 - own / total):.0f} % of the device time is a library's kernels "
                f"({next(r['name'] for r in kernels if r['library'])[:80]})"
            )

    def _teeth(self, expected: dict, inputs: Bundle) -> None:
        """Would a kernel that computes nothing pass? Kept for the verdict: one case with teeth is enough."""
        teeth, native = self.judge.teeth, expected["native"]
        nodes = list(values.tensors_of(native.bundle.tree["items"]["result"]))
        nodes = [(path, node) for path, node in nodes if math.prod(node["shape"])]  # anything passes for an empty one
        if not nodes or sum(math.prod(node["shape"]) for _, node in nodes) > NULL_LIMIT_ELEMENTS:
            return
        source = values.Mapping(inputs, writable=False)
        tensors = [values.rebuild(t, source.bytes_of) for _, t in values.tensors_of(inputs.tree)]
        anchors = {kind: matching(expected[kind], native) for kind in ("golden", "moved")}
        for path, _node in nodes:
            target = Expected(
                part_of(native, "result", path),
                **{k: part_of(m, "result", path) if m else None for k, m in anchors.items()},
            )
            for name, null in null_results(target.native, tensors, None):
                if False in teeth.get((path, name), ()):
                    continue
                if bits_equal(null.contiguous(), target.native.contiguous()):
                    passed = True
                else:
                    tolerance, device = self._tolerance(target), self._compare_device(null)
                    passed = compare.compare(path, null, target, tolerance, device, explain=False).passed
                teeth.setdefault((path, name), []).append(passed)
            if not any(t.shape == target.native.shape and t.dtype == target.native.dtype for t in tensors):
                teeth.setdefault((path, COPY), []).append(False)  # there is none that could be returned
