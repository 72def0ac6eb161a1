"""The rules of EXPECT: ``{"sm_90a": {"HGMMA": ">0", "spill_bytes": 0}}`` (standard library only).

A fact is a resource of a kernel (``spill_bytes``, ``registers``, ...) or a SASS instruction by mnemonic: ``LDG.128``
counts every LDG with the modifier 128, whatever its others (LDG.E.128, LDG.E.EF.128). A rule is an exact integer or a
comparison: ``4``, ``">0"``, ``">=4"``, ``"<=64"``, ``"<2"``, ``"!=0"``, ``"==8"``. A dict of facts is about
the kernels whose label has its key in it: ``{"sm_90a": {"apply": {"load_bytes_in_flight": ">=64"}}}``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..contract import ContractError, check_archs

RESOURCES = (
    "registers",
    "spill_bytes",
    "spill_store_bytes",
    "spill_load_bytes",
    "stack_bytes",
    "static_shared_bytes",
    "dynamic_shared_bytes",
    "shared_bytes",
    "threads",
    "cluster_size",
    "local_instructions",
    "load_bytes_in_flight",
    "kernels",
)
LAUNCHED = ("dynamic_shared_bytes", "shared_bytes")  # what a kernel that is compiled and not launched does not have
COMPARISONS = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
OF_KERNEL = ": "  # between a kernel and its fact
UNREAD = "not read here: SASS needs nvdisasm (pip install nvidia-cuda-nvdisasm)"
FORBIDS = ("0", "<=0", "<1")  # rules that allow nothing at all
RULE = re.compile(r"\s*(>=|<=|==|!=|>|<)?\s*(\d+)\s*")
MNEMONIC = re.compile(r"[A-Z][A-Z0-9_]*(\.[A-Za-z0-9_]+)*")


@dataclass(frozen=True)
class Rule:
    """``found`` must stand in ``comparison`` to ``limit``."""

    comparison: str
    limit: int

    def holds(self, found: int) -> bool:
        return COMPARISONS[self.comparison](found, self.limit)

    @property
    def is_upper_bound(self) -> bool:
        """Whether the rule forbids: such a rule is about every kernel, any other about what the file has somewhere."""
        return self.comparison in ("<", "<=") or (self.comparison == "==" and self.limit == 0)

    def __str__(self) -> str:
        return str(self.limit) if self.comparison == "==" else f"{self.comparison}{self.limit}"


@dataclass(frozen=True)
class Finding:
    """One rule of EXPECT and what was found: ``holds`` is None when the fact could not be read here (``reason``)."""

    arch: str
    fact: str
    rule: str
    found: int | None
    holds: bool | None
    where: str
    reason: str = ""


def parse(expect: Mapping, where: str) -> dict[str, dict[str, Rule]]:
    """EXPECT with its rules read, those of a kernel under ``kernel: fact``; ContractError names the entry that is
    none."""
    check_archs(expect, f"{where}: EXPECT")
    return {
        arch: _rules(facts, f"{where}: EXPECT[{arch!r}]")
        for arch, facts in expect.items()
        if _is_mapping(facts, f"{where}: EXPECT[{arch!r}]")
    }


def _rules(facts: Mapping, where: str) -> dict[str, Rule]:
    rules = {}
    for fact, rule in facts.items():
        if isinstance(rule, Mapping):
            rules |= {f"{fact}{OF_KERNEL}{name}": _rule(name, one, f"{where}[{fact!r}]") for name, one in rule.items()}
        else:
            rules[fact] = _rule(fact, rule, where)
    return rules


def check(rules: Mapping[str, Rule], arch: str, kernels: list[tuple[str, Callable[[str], int | None]]],
          first: set[str] | None) -> list[Finding]:
    """Hold ``rules`` against the kernels of one arch.

    kernels: (name, look-up of a fact: its value, or None when it cannot be read here). first: names of the kernels of
    the file's first case, None when that case was not compiled. Upper bounds are held against every kernel. Other rules
    speak of the first case, where instruction counts add up over its kernels and resources take the largest. Rules of
    a kernel are held against each one with that label, in any case.
    """
    found = []
    for fact, rule in rules.items():
        kernel, _, name = fact.rpartition(OF_KERNEL)
        if kernel:
            these = [(label, lookup(name)) for label, lookup in kernels if kernel in label]
            found += [_held(arch, fact, rule, [one]) for one in these] or [_held(arch, fact, rule, [])]
        elif rule.is_upper_bound or first is not None:
            all_of = [(label, lookup(fact)) for label, lookup in kernels if rule.is_upper_bound or label in first]
            held = _held(arch, fact, rule, all_of)
            is_general = rule.is_upper_bound or not all_of
            found.append(held if is_general else replace(held, where=f"{held.where} of the first case"))
    return found


def _held(arch: str, fact: str, rule: Rule, found: list[tuple[str, int | None]]) -> Finding:
    where, name = ", ".join(label for label, _ in found), fact.rpartition(OF_KERNEL)[-1]
    if not found:
        return Finding(arch, fact, str(rule), None, None, where, "no such kernel was captured")
    if name in LAUNCHED:
        found = [pair for pair in found if pair[1] is not None] or found
    if any(value is None for _, value in found):
        return Finding(arch, fact, str(rule), None, None, where, UNREAD)
    if rule.is_upper_bound:
        where, value = next((pair for pair in found if not rule.holds(pair[1])), max(found, key=lambda pair: pair[1]))
    else:
        value = (max if name in RESOURCES else sum)(value for _, value in found)
    return Finding(arch, fact, str(rule), value, rule.holds(value), where)


def _rule(fact: str, rule, where: str) -> Rule:
    if not isinstance(fact, str) or (fact not in RESOURCES and not MNEMONIC.fullmatch(fact)):
        raise ContractError(
            f"{where}: {fact!r} is no fact; give a SASS mnemonic such as LDG.128 or one of {', '.join(RESOURCES)}"
        )
    if isinstance(rule, int) and not isinstance(rule, bool) and rule >= 0:
        return Rule("==", rule)
    match = RULE.fullmatch(rule) if isinstance(rule, str) else None
    if not match:
        raise ContractError(
            f'{where}[{fact!r}] is {rule!r}; a rule is a count or a comparison such as 0, ">0" or "<=64"'
        )
    return Rule(match[1] or "==", int(match[2]))


def _is_mapping(facts, where: str) -> bool:
    if not isinstance(facts, Mapping):
        raise ContractError(f"{where} must be a dict of facts and rules, got {type(facts).__name__}")
    return True
