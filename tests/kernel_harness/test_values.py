"""Values survive the trip through a file, byte for byte, and nothing is executed on the way back."""

import json
import math
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from kernel_harness import values

pytestmark = pytest.mark.cpu


def round_trip(value, tmp_path):
    bundle = values.save(value, tmp_path / "bundle")
    document = json.loads(json.dumps(bundle.to_json()))
    mapping = values.Mapping(values.Bundle.from_json(document))
    return values.rebuild(mapping.bundle.tree, mapping.bytes_of), mapping


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(5, 7),
        torch.randn(6, 4).t(),
        torch.randn(8, 8)[1:5:2, 3:],
        torch.randn(3).expand(4, 3),
        torch.tensor(2.5),
        torch.empty(0, 3),
        torch.randn(4).to(torch.float8_e4m3fn),
        torch.randn(3, dtype=torch.complex64),
        torch.tensor([True, False]),
        torch.tensor([float("nan"), float("-inf"), -0.0]),
        torch.randint(-5, 5, (9,), dtype=torch.int8),
    ],
    ids=lambda t: f"{t.dtype}, {tuple(t.shape)}, {t.stride()}",
)
def test_a_tensor_keeps_bits_shape_and_strides(tensor, tmp_path):
    (copy,), _ = round_trip([tensor], tmp_path)

    assert copy.dtype == tensor.dtype
    assert copy.shape == tensor.shape
    assert copy.stride() == tensor.stride()
    as_bytes = [t.contiguous().reshape(-1).view(torch.uint8) for t in (copy, tensor)]
    assert torch.equal(*as_bytes)


def test_structure_and_scalars_survive(tmp_path):
    value = [1, 2.5, True, None, "text", torch.float16, (torch.ones(2), {"b": torch.zeros(1), "a": float("inf")})]

    copy, _ = round_trip(value, tmp_path)

    assert copy[:6] == value[:6]
    assert copy[6][1]["a"] == float("inf")
    assert torch.equal(copy[6][0], torch.ones(2))


def test_tensors_that_share_memory_still_do(tmp_path):
    base = torch.arange(12.0)

    (whole, part), _ = round_trip([base, base[4:8]], tmp_path)
    whole[5] = 99

    assert part[1] == 99


def test_each_process_that_maps_the_file_sees_new_values(tmp_path):
    (tensor,), mapping = round_trip([torch.zeros(4)], tmp_path)
    version = tensor._version

    values.Mapping(mapping.bundle).bytes_of(0).copy_(torch.ones(4).view(torch.uint8))

    assert torch.equal(tensor, torch.ones(4))
    assert tensor._version == version


def test_guard_zones_surround_each_storage_and_read_as_nan(tmp_path):
    (tensor,), mapping = round_trip([torch.zeros(4)], tmp_path)

    zones = {side: guard for _, side, guard in mapping.guards()}

    assert all(torch.isnan(zone.view(torch.float32)).all() for zone in zones.values())
    assert zones["after"].data_ptr() == tensor.data_ptr() + 16


@pytest.mark.parametrize("value", [[object()], [torch.eye(3).to_sparse()], [{1, 2}], [lambda: 0]],
                         ids=["object", "sparse", "set", "function"])
def test_anything_else_is_refused(value, tmp_path):
    with pytest.raises(values.UnsupportedValue):
        values.save(value, tmp_path / "bundle")


def test_a_tree_that_points_outside_the_file_is_refused(tmp_path):
    bundle = values.save([torch.zeros(4)], tmp_path / "bundle")
    document = bundle.to_json()
    document["tree"]["items"][0]["shape"] = [4096]

    mapping = values.Mapping(values.Bundle.from_json(document))

    with pytest.raises(RuntimeError):
        values.rebuild(mapping.bundle.tree, mapping.bytes_of)


WRITES = """
import json, sys
from kernel_harness import values
mapping = values.Mapping(values.Bundle.from_json(json.load(sys.stdin)), sealed=True)
x = values.rebuild(mapping.bundle.tree, mapping.bytes_of)[0]
print(x.sum().item(), flush=True)
x.numpy()[0] = 5
print("written")
"""


def test_who_writes_to_sealed_memory_ends(tmp_path):
    bundle = json.dumps(values.save([torch.ones(8)], tmp_path / "inputs").to_json())
    scripts = Path(values.__file__).parents[1]

    done = subprocess.run(
        [sys.executable, "-c", WRITES], input=bundle, text=True, capture_output=True, cwd=scripts, check=False
    )

    assert done.returncode == -signal.SIGSEGV, done.stderr
    assert done.stdout == "8.0\n"


@pytest.mark.parametrize("tensor", [
    torch.ones(1, 2)[:, ::2], torch.arange(6.0).view(2, 3).t(), torch.tensor(3), torch.empty(0, 4), torch.ones(4)[2:]
], ids=lambda t: f"{tuple(t.shape)} {t.stride()}")
def test_elements_are_seen_as_bytes_whatever_the_strides(tensor):
    assert bytes(values.flat_bytes(tensor).tolist()) == tensor.numpy().tobytes()


def test_the_largest_magnitude_leaves_out_what_stands_for_infinity(tmp_path):
    x = torch.tensor([1.0, -7.5, -1e9, -math.inf, math.nan])
    bundle = values.save([x, torch.tensor([100]), 3.0, torch.zeros(0)], tmp_path / "inputs")

    assert values.largest(bundle) == 7.5
    assert values.largest(values.save([torch.tensor([100])], tmp_path / "whole")) == 0.0


def test_what_is_reached_of_a_storage_is_what_is_saved(tmp_path):
    row = torch.zeros(1000, 8)[:1]
    value = [row, row[:, 2:], torch.zeros(40)[21:], 3.0]

    assert values.reached_bytes(value) == sum(span.nbytes for span in values.save(value, tmp_path / "file").spans)
    assert values.reached_bytes(value) == 32 + 80  # from a multiple of 16 on


@pytest.mark.parametrize("kind", ["conjugate", "imaginary part of one", "plain"])
def test_a_lazy_conjugate_or_negative_stays_one(kind, tmp_path):
    x = torch.tensor([1 + 2j, 3 - 4j])
    value = {"conjugate": x.conj(), "imaginary part of one": x.conj().imag, "plain": x}[kind]
    (back,), _ = round_trip([value], tmp_path)

    assert torch.equal(back, value)
    assert (back.is_conj(), back.is_neg()) == (kind == "conjugate", kind == "imaginary part of one")
