"""What is told of the launch bounds that a kernel was compiled with."""

from types import SimpleNamespace

import pytest
from kernel_harness.compiled.kernel_facts import bound_notes

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("bounds", "count"), [
    ({"minnctapersm": (2,)}, 1),
    ({"minnctapersm": (2,), "reqntid": (256, 1, 1)}, 0),
    ({"minnctapersm": (2,), "maxntid": (256, 1, 1)}, 0),
    ({"reqntid": (256, 1, 1)}, 0),
    ({}, 0),
])  # fmt: skip
def test_blocks_a_multiprocessor_say_nothing_of_a_block_of_unknown_size(bounds, count):
    facts = SimpleNamespace(label="apply", kernel=SimpleNamespace(arch="sm_90a"), entry=SimpleNamespace(bounds=bounds))

    notes = bound_notes(facts)

    assert len(notes) == count
    assert all("min_blocks_per_mp=2 has no effect" in note for note in notes)
