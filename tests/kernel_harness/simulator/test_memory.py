"""What a second run of a launch begins with."""

import numpy as np
import pytest
from kernel_harness.simulator.memory import Snapshot

pytestmark = pytest.mark.cpu


def test_what_has_changed_is_written_back():
    memory = np.arange(8, dtype=np.uint8)
    before = Snapshot([memory])
    memory[3] = 0

    assert not before.still_holds()
    before.restore()
    assert memory.tolist() == list(range(8))


def test_what_has_not_changed_is_not_written_to():
    """It may be an input that lies where none may write."""
    memory = np.arange(8, dtype=np.uint8)
    before = Snapshot([memory])
    memory.flags.writeable = False

    before.restore()
    assert before.still_holds()
