"""The devices table and the occupancy that follows from it."""

import pytest
from kernel_harness.compiled.occupancy import occupancy
from kernel_harness.devices import DEVICES, capability, devices_for

pytestmark = pytest.mark.cpu
BY_NAME = {device.name: device for device in DEVICES}


def test_every_device_names_its_source_and_fits_its_own_limits():
    for device in DEVICES:
        assert len(device.source) > 20
        assert device.shared_per_block == device.shared_per_multiprocessor - 1024
        assert device.threads_per_multiprocessor % 32 == 0


def test_capability_of_every_form_of_target():
    assert [capability(a) for a in ("sm_80", "sm_90a", "sm_100f", "sm_120a")] == [(8, 0), (9, 0), (10, 0), (12, 0)]


@pytest.mark.parametrize(("arch", "names"), [
    ("sm_80", ["A100", "RTX 4090"]), ("sm_90a", ["H100", "H200"]), ("sm_100a", ["B200"]), ("sm_120a", ["RTX 5090"]),
    ("sm_89", ["RTX 4090"]), ("sm_120", ["RTX 5090"]), ("sm_103a", []),
])
def test_the_two_blackwells_are_never_confused(arch, names):
    assert [device.name for device in devices_for(arch)] == names


# threads, registers, shared bytes -> CTAs, what limits them: NVIDIA's occupancy calculator for capability 9.0.
@pytest.mark.parametrize(("threads", "registers", "shared", "blocks", "limited_by"), [
    (128, 32, 0, 16, "threads"),
    (32, 20, 0, 32, "blocks"),
    (256, 128, 0, 2, "registers"),
    (384, 168, 0, 1, "registers"),
    (128, 32, 100 * 1024, 2, "shared memory"),
    (1024, 64, 0, 1, "registers"),
])
def test_what_limits_occupancy_on_an_h200(threads, registers, shared, blocks, limited_by):
    found = occupancy(BY_NAME["H200"], threads, registers, shared)

    assert (found.blocks, found.limited_by) == (blocks, limited_by)
    assert found.warps == blocks * threads // 32


def test_a_cta_that_cannot_be_launched_says_why():
    assert "RTX 4090 gives 101376" in occupancy(BY_NAME["RTX 4090"], 128, 32, 110_000).limited_by
    assert "at most 1024 fit" in occupancy(BY_NAME["H100"], 1056, 32, 0).limited_by
    assert "needs 255 registers" in occupancy(BY_NAME["H100"], 512, 255, 0).limited_by
