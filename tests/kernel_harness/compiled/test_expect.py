"""The grammar of EXPECT and what its rules are held against."""

import pytest
from kernel_harness.compiled import expect
from kernel_harness.contract import ContractError

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("rule", "holds", "fails"), [
    (0, 0, 1), (4, 4, 5), (">0", 1, 0), (">=4", 4, 3), ("<=64", 64, 65), ("<2", 1, 2), ("!=0", 3, 0), ("== 8", 8, 7),
    ("7", 7, 8),
])
def test_rules(rule, holds, fails):
    parsed = expect.parse({"sm_90a": {"HGMMA": rule}}, "k.py")["sm_90a"]["HGMMA"]

    assert parsed.holds(holds)
    assert not parsed.holds(fails)


@pytest.mark.parametrize(("bad", "says"), [
    ({"h100": {}}, "'h100' is no compile target"),
    ({"sm_90a": 3}, "must be a dict"),
    ({"sm_90a": {"HGMMA": "some"}}, "a rule is a count or a comparison"),
    ({"sm_90a": {"HGMMA": -1}}, "a rule is a count or a comparison"),
    ({"sm_90a": {"HGMMA": True}}, "a rule is a count or a comparison"),
    ({"sm_90a": {"spil_bytes": 0}}, "is no fact"),
])
def test_a_bad_entry_is_named(bad, says):
    with pytest.raises(ContractError, match=says):
        expect.parse(bad, "k.py")


def check(rules, facts, default):
    parsed = expect.parse({"sm_90a": rules}, "k.py")["sm_90a"]
    return {f.fact: f for f in expect.check(parsed, "sm_90a", [(n, v.get) for n, v in facts.items()], default)}


def test_upper_bounds_are_about_every_kernel_and_other_rules_about_the_first_case():
    facts = {"main": {"HGMMA": 4, "spill_bytes": 0, "registers": 90},
             "combine": {"HGMMA": 0, "spill_bytes": 8, "registers": 255}}

    found = check({"HGMMA": ">0", "spill_bytes": 0, "registers": ">=90"}, facts, {"main"})

    assert (found["HGMMA"].holds, found["HGMMA"].where) == (True, "main of the first case")
    assert (found["spill_bytes"].holds, found["spill_bytes"].where) == (False, "combine")
    assert (found["registers"].found, found["registers"].holds) == (90, True)


def test_what_a_launch_decides_is_not_asked_of_kernels_that_were_not_launched():
    facts = {"launched": {"shared_bytes": 4096, "spill_bytes": 0}, "other": {"spill_bytes": 0}}

    assert check({"shared_bytes": ">0"}, facts, {"launched", "other"})["shared_bytes"].holds
    assert check({"shared_bytes": "<=4096"}, facts, {"launched", "other"})["shared_bytes"].holds
    assert check({"shared_bytes": ">0"}, {"other": {}}, {"other"})["shared_bytes"].holds is None


def test_counts_add_up_over_the_kernels_of_the_first_case():
    found = check({"LDG": 5}, {"a": {"LDG": 2}, "b": {"LDG": 3}, "c": {"LDG": 9}}, {"a", "b"})

    assert found["LDG"].holds


def test_a_fact_that_cannot_be_read_is_undecided_and_not_zero():
    found = check({"HGMMA": 0, "LDG": ">0"}, {"a": {}}, {"a"})

    assert found["HGMMA"].holds is None
    assert "nvdisasm" in found["LDG"].reason


def test_without_the_first_case_only_upper_bounds_are_held():
    found = check({"LDG": ">0", "spill_bytes": 0}, {"a": {"LDG": 0, "spill_bytes": 4}}, None)

    assert list(found) == ["spill_bytes"]
    assert found["spill_bytes"].holds is False


def test_no_kernel_is_undecided():
    assert check({"spill_bytes": 0}, {}, set())["spill_bytes"].holds is None


def test_a_rule_of_a_kernel_is_held_against_each_of_its_name_and_no_other():
    rules = expect.parse({"sm_90a": {"apply": {"load_bytes_in_flight": ">=64"}, "merge": {"LDG": 2}}}, "k.py")["sm_90a"]
    found = {"apply_K": {"load_bytes_in_flight": 128, "LDG": 8}, "apply_K#2": {"load_bytes_in_flight": 32, "LDG": 1}}
    kernels = [(name, facts.get) for name, facts in found.items()]
    held = [(c.fact, c.where, c.holds) for c in expect.check(rules, "sm_90a", kernels, {"apply_K"})]

    assert held == [("apply: load_bytes_in_flight", "apply_K", True),
                    ("apply: load_bytes_in_flight", "apply_K#2", False), ("merge: LDG", "", None)]
    with pytest.raises(ContractError, match=r"EXPECT\['sm_90a'\]\['apply'\]: 'loads' is no fact"):
        expect.parse({"sm_90a": {"apply": {"loads": 3}}}, "k.py")
