"""Inputs that break a rule of get_inputs, or keep it with other values: what they are, and what they tell."""

from __future__ import annotations

from dataclasses import dataclass

from ..values import Bundle


@dataclass(frozen=True)
class RuleBreaker:
    """Inputs that may be none to the kernel: a result that stays counts against it, one that is wrong if it decides.

    nearly: of wrong results only those count that are nearly right: what breaks a rule is wrong from the first digit.
    slip: of wrong integers only those count that arithmetic gets wrong (integers.py), of others those nearly right.
    codes: so do others that are right but for few elements: a code that get_inputs does not make is read wrongly.
    partly: of wrong results only those count that are right in part: a size that is none is wrong throughout.
    named: the reference says what they mean: to fail on them is wrong, too, where it is no refusal.
    openly: NaN and infinities, with which a kernel may say that it does not take them, count as wrong.
    zeros: only where the reference answers zeros, which it takes care to do.
    advice: a wrong result is told, and counts at paranoid: the rule is one that callers may know. known: they do, most
    likely, so that a result that stays is no more than wrong.
    again: the first inputs come right before, whose result a kernel may have kept that looks at a few places only.
    twin: inputs for which the result may not be right instead; instead: what these are.
    """

    check: str
    what: str
    bundle: Bundle
    decides: bool = False
    nearly: bool = False
    slip: bool = False
    codes: bool = False
    partly: bool = False
    named: bool = False
    openly: bool = False
    zeros: bool = False
    advice: bool = False
    known: bool = False
    again: bool = False
    twin: Bundle | None = None
    instead: str = ""

    @property
    def files(self) -> list[str]:
        return [bundle.file for bundle in (self.bundle, self.twin) if bundle]

    @property
    def result(self) -> str:
        return "its previous result" if self.check == "replay" else "the same result"
