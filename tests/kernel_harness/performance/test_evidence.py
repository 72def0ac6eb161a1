"""Each kind of timing cheat leads to its exit code and a reason; honest bursts lead to nothing."""

import pytest
from kernel_harness.performance import evidence
from kernel_harness.verdict import ExitCode

pytestmark = pytest.mark.cpu


def burst(**changes):
    """What an honest contender reports of a burst of four calls."""
    return {"device_us": [20.0, 20.1, 19.9, 20.0], "event_us": [23.0, 23.1, 22.9, 23.0], "overhang_us": [0.0] * 4,
            "starved": False, "persisting_l2_bytes": 0, "launches": [1] * 4, "launch_ids": [0] * 4, "changed_later": [],
            "shared_outputs": False, "replayed": False, "lazy": [], "patched_clocks": []} | changes


def test_honest_bursts_stand():
    assert evidence.charges("kernel", [burst(), burst()], 1000, "cupti") == []


@pytest.mark.parametrize(("changes", "code", "reason"), [
    ({"overhang_us": [0, 47.0, 48.0, 0]}, ExitCode.CHEATING, "ran on for up to 48.0 us after the end of the call"),
    ({"persisting_l2_bytes": 1 << 20}, ExitCode.CHEATING, "aside for persisting data"),
    ({"patched_clocks": ["Event.elapsed_time"]}, ExitCode.CHEATING, "replaced Event.elapsed_time"),
    ({"launches": [1, 0, 1, 1]}, ExitCode.CHEATING, "1 of 4 timed calls put no work on the device"),
    ({"changed_later": [2]}, ExitCode.CHEATING, "put off past the stop of the clock"),
    ({"lazy": ["Lazy"]}, ExitCode.CHEATING, "returns Lazy instead of torch.Tensor"),
    ({"device_us": [900.0, 1.0, 1.0, 1.0], "event_us": [903.0, 4.0, 4.0, 4.0], "launch_ids": [0, 1, 1, 1]},
     ExitCode.CHEATING, "some calls do the work of others"),
    ({"shared_outputs": True, "changed_later": [0]}, ExitCode.WRONG_RESULT, "allocate the output in every call"),
    ({"event_us": [900.0] * 4}, ExitCode.UNDECIDED, "clocks disagree"),
])
def test_each_kind_of_evidence_has_its_code_and_reason(changes, code, reason):
    found = evidence.charges("kernel", [burst(**changes)], 1000, "cupti")
    assert [charge.code for charge in found] == [code]
    assert reason in found[0].sentence


def test_a_kernel_without_output_may_do_nothing():
    assert evidence.charges("kernel", [burst(launches=[0] * 4)], 0, "cupti") == []


def test_a_starved_burst_says_nothing_about_clocks():
    assert evidence.charges("kernel", [burst(event_us=[900.0] * 4, starved=True)], 1000, "cupti") == []


def test_outputs_that_never_change_are_replays_only_if_the_reference_changes():
    replaying, honest = [burst(replayed=True)] * 3, [burst()] * 3
    assert evidence.replayed("kernel", replaying, honest)[0].code is ExitCode.CHEATING
    assert evidence.replayed("kernel", replaying, replaying) == []
    assert evidence.replayed("kernel", honest, honest) == []


def test_a_wrong_sample_is_a_replay_when_the_old_bits_came_back():
    assert evidence.wrong_sample("kernel", "off", False, True).code is ExitCode.CHEATING
    charge = evidence.wrong_sample("kernel", "off", True, False)
    assert (charge.code, charge.sentence) == (ExitCode.WRONG_RESULT, "kernel is wrong before timing: off")
