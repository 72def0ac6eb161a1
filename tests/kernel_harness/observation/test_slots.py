"""Guarded blocks, as on a GPU: the device here is "cpu:0", which takes the same path."""

import gc
import weakref

import pytest
import torch
from kernel_harness import values
from kernel_harness.observation import slots

pytestmark = pytest.mark.cpu
DEVICE = "cpu:0"


@pytest.fixture
def current():
    """The devices that were made current, in order."""
    return []


@pytest.fixture
def made(tmp_path, monkeypatch, current):
    """Builds a slot of blocks; returns (slot, the bundle as JSON)."""

    def make(*tensors, embed=False):
        monkeypatch.setattr(torch.cuda, "set_device", current.append)
        bundle = values.save(list(tensors), tmp_path / "inputs").to_json()
        entry = slots.prepare(bundle, "a", "", DEVICE, embed)
        slots.fill_device(entry)
        return entry, bundle

    return make


@pytest.mark.parametrize("embed", [False, True])
def test_values_arrive_and_come_back(made, embed):
    x, empty = torch.randn(5, 7).t(), torch.empty(0, 3)

    entry, bundle = made(x, empty, embed=embed)

    assert torch.equal(entry.inputs[0], x)
    assert entry.inputs[0].stride() == x.stride()
    assert entry.inputs[1].shape == (0, 3)
    assert (entry.inputs[0].storage_offset() > 0) is embed
    entry.inputs[0].mul_(2)
    slots.read_back(entry)
    back = values.Mapping(values.Bundle.from_json(bundle))
    assert torch.equal(values.rebuild(bundle["tree"], back.bytes_of)[0], 2 * x)


@pytest.mark.parametrize("nbytes", [12, 3 * values.GUARD_BYTES])
def test_disguised_guard_zones_hold_what_lies_beside_them(made, nbytes):
    x = torch.arange(nbytes).to(torch.uint8)
    entry, _ = made(x, torch.empty(0))

    slots.disguise(entry)

    size = values.GUARD_BYTES
    before, inside, after = entry.blocks[0].split([size, nbytes, size])
    assert torch.equal(inside, x)
    assert torch.equal(before, x.repeat(size)[:size] if nbytes < size else x[:size])
    assert torch.equal(after, before)


def test_a_write_past_the_end_reaches_the_guard_zone_in_the_file(made):
    entry, bundle = made(torch.zeros(16))
    entry.blocks[0][values.GUARD_BYTES + 64] = 0

    slots.read_back(entry)

    guards = {side: guard for _, side, guard in values.Mapping(values.Bundle.from_json(bundle)).guards()}
    assert int((guards["after"] != values.guard_pattern(0)).sum()) == 1
    assert torch.equal(guards["before"], values.guard_pattern(0))


def test_copying_one_inputs_guard_zone_over_anothers_shows(made):
    entry, bundle = made(torch.zeros(16), torch.ones(16))
    after = slice(values.GUARD_BYTES + 64, values.GUARD_BYTES + 64 + 12)
    entry.blocks[1][after] = entry.blocks[0][after]

    slots.read_back(entry)

    guards = [guard for _, side, guard in values.Mapping(values.Bundle.from_json(bundle)).guards() if side == "after"]
    assert torch.equal(guards[0], values.guard_pattern(0))
    assert int((guards[1] != values.guard_pattern(1)).sum()) == 6


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_a_guard_zone_reads_as_nan(dtype):
    for index in range(values.GUARD_KINDS):
        assert bool(values.guard_pattern(index).view(dtype).isnan().all())


def test_new_values_come_in_under_the_version_counter(made):
    entry, bundle = made(torch.zeros(4))
    (tensor,) = entry.inputs
    pointer, version = tensor.data_ptr(), tensor._version
    values.Mapping(values.Bundle.from_json(bundle)).bytes_of(0).copy_(torch.ones(4).view(torch.uint8))

    again = slots.prepare(bundle, "a", "silent", DEVICE)
    slots.fill_device(again)

    assert torch.equal(tensor, torch.ones(4))
    assert (tensor.data_ptr(), tensor._version) == (pointer, version)
    slots.prepare(bundle, "a", "bumped", DEVICE)
    assert tensor._version > version


def test_an_input_that_a_kernel_keeps_stays_what_it_was(made):
    """A cache by content compares with an input of an earlier call, whose slot is long gone."""
    entry, _ = made(torch.full((1 << 16,), 3.0))
    kept = entry.inputs[0][1:]
    block = weakref.ref(entry.blocks[0])

    del entry
    slots.SLOTS.clear()
    gc.collect()

    assert block() is not None
    assert torch.equal(kept, torch.full((65535,), 3.0))
    del kept
    gc.collect()
    assert block() is None


def test_the_inputs_device_becomes_the_current_one(made, current):
    """Streams, synchronisation and captures of a kernel on cuda:1 are that device's."""
    entry, _ = made(torch.zeros(4))

    assert current == [entry.blocks[0].device]


def test_plain_inputs_lie_in_memory_of_pytorchs_own(tmp_path):
    x = torch.randn(5, 8)
    bundle = values.save([x[:, 2:], 3], tmp_path / "inputs").to_json()

    entry = slots.prepare(bundle, "a", "plain", None)

    taken, number = entry.inputs
    assert (torch.equal(taken, x[:, 2:]), taken.stride(), number) == (True, (8, 1), 3)
    taken.zero_()
    assert torch.equal(values.rebuild(bundle["tree"], entry.source.bytes_of)[0], x[:, 2:]), "the file stays as it was"


def test_what_is_lent_is_the_other_slots_tensor_with_the_values_of_its_file(made, tmp_path):
    lender, _ = made(torch.ones(3), torch.ones(4))
    entry = slots.prepare(values.save([torch.zeros(3), torch.zeros(4)], tmp_path / "new").to_json(), "c", "", DEVICE)
    slots.fill_device(entry)
    lender.source.bytes_of(0).view(torch.float32).fill_(7.0)
    version = lender.inputs[0]._version

    slots.lend(lender, entry, [0])

    assert entry.inputs[0] is lender.inputs[0]
    assert entry.inputs[0].tolist() == [7.0] * 3
    assert entry.inputs[0]._version > version
    assert entry.inputs[1].tolist() == [0.0] * 4
