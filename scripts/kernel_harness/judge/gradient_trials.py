"""A trial with gradients, where a case's inputs ask for them."""

from __future__ import annotations

from .. import values
from ..contract import ContractError
from ..values import Bundle
from .nonfinite_trials import NonfiniteTrials


class GradientTrials(NonfiniteTrials):
    """What torch.autograd.Function gives back is as much a result as what it returns."""

    def _gradients(self, first: Bundle) -> None:
        wants = any(node.get("requires_grad") for _, node in values.tensors_of(first.tree))
        if not wants or self.judge.mutates:
            return
        for kind in ("whole", "sliced"):
            if self.case_failed() or not self._has_right_gradients(first, kind):
                return
        other, moved = self._other_inputs(first)
        if moved and not self.case_failed():
            self._has_right_gradients(first, "whole", then=other)

    def _has_right_gradients(self, first: Bundle, kind: str, then: Bundle | None = None) -> bool:
        """Are there gradients, and right ones, for such of the result as lie ``kind`` in memory? then: inputs of a call
        between that and the gradients, as in a layer that is used twice."""
        try:
            expected = self._reference(first, "gradients", backward=kind, roundings=True)
        except ContractError:  # it has none
            return False
        how = {"backward": kind, "then": self._working_copy(then).bundle.to_json() if then else None}
        reply = self._call("gradients", self._working_copy(first), "b", poison="large", may_fail=True, **how)
        if "bundle" not in reply and kind == "whole" and not then:
            seen = f"inputs require gradients, which reference_fn has, and kernel_fn gives none: {reply.get('error')}"
            self.outcome.note(f"[case {self.case}] {seen[:200]}. Raise ValueError for such inputs, or return them")
        elif self._failed_quietly(reply, expected):
            of = "" if kind == "whole" else ", where that of the result is a slice, whose rows lie further apart,"
            of = ", where a call on other values came between," if then else of
            seen = f"The gradients that kernel_fn's result gives{of} are wrong"
            self.outcome.add("other-values", f"{seen}: {self._worst(reply, expected)}.", self.case)
        return "bundle" in reply
