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
        try:
            expected = self._reference(first, "gradients", backward=True, roundings=True)
        except ContractError:  # it has none
            return
        reply = self._call("gradients", self._working_copy(first), "b", poison="large", may_fail=True, backward=True)
        if "bundle" not in reply:
            seen = f"inputs require gradients, which reference_fn has, and kernel_fn gives none: {reply.get('error')}"
            self.outcome.note(f"[case {self.case}] {seen[:200]}. Raise ValueError for such inputs, or return them")
        elif self._failed_quietly(reply, expected):
            seen = "The gradients that kernel_fn's result gives are wrong"
            self.outcome.add("other-values", f"{seen}: {self._worst(reply, expected)}.", self.case)
