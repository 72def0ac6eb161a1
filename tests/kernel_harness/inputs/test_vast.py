"""Inputs that are too many for a file: their sizes, and samples of what is made of them."""

import dataclasses

import pytest
import torch
from kernel_harness import contract, values
from kernel_harness.inputs import vast
from kernel_harness.values import Bundle

pytestmark = pytest.mark.cpu

PAGED = """
import torch
TEST_CASES = {"few": {"pages": 3, "tokens": 5}, "many": {"pages": 40, "tokens": 9}}
def get_inputs(pages=8, page=4, width=16, tokens=7):
    return [torch.randn(pages, page, width), torch.randint(0, pages, (tokens,))]
def reference_fn(cache, table): return cache[table].sum(1)
def kernel_fn(cache, table):
    flat, size = cache.flatten(), cache[0].numel()
    at = (table * size + 2**15) % 2**16 - 2**15  # as 16 bits wrap
    return torch.stack([flat[i : i + size].view(cache.shape[1:]).sum(0) for i in at.tolist()])
"""
ELEMENTS = 2**15


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(PAGED)
    return contract.load_kernel(path)


def test_the_size_by_which_the_largest_input_grows_goes_beyond_what_is_counted(file):
    (found,) = vast.vast_sizes(file, ELEMENTS, most_bytes=2**30)["found"]  # tokens do not: their table is short

    assert found["what"] == "pages=768"
    assert found["size"] * 4 * 16 == 1.5 * ELEMENTS
    assert vast.vast_sizes(file, ELEMENTS, most_bytes=2**16)["found"] == []


def samples(tmp_path, file, function, name, seed=3):
    asked = {"places": [("pages", None)], "size": 768, "elements": ELEMENTS, "seed": seed}
    reply = vast.sampled(file, function, torch.no_grad(), output=str(tmp_path / name), **asked)
    mapping = values.Mapping(Bundle.from_json(reply["bundle"]), writable=False)
    items = mapping.bundle.tree["items"]
    return [[values.rebuild(node, mapping.bytes_of) for _, node in values.tensors_of(items[part])]
            for part in ("inputs", "result")]


def test_samples_of_one_seed_are_those_of_the_same_inputs(file, tmp_path):
    one, other = (samples(tmp_path, file, file.reference_fn, name) for name in ("one", "other"))
    third = samples(tmp_path, file, file.reference_fn, "third", seed=4)

    assert all(map(torch.equal, one[0] + one[1], other[0] + other[1]))
    assert not torch.equal(one[0][0], third[0][0])
    assert len(one[0][0]) == vast.SAMPLES + 2 * vast.STRETCH
    assert len(one[0][1]) == 7
    assert vast.far_off(one[1], other[1]) == ""


def test_what_wraps_is_far_off(file, tmp_path):
    expected = samples(tmp_path, file, file.reference_fn, "reference")[1]
    result = samples(tmp_path, file, file.kernel_fn, "kernel")[1]

    assert "samples of output 0 are far off" in vast.far_off(result, expected)


@pytest.mark.parametrize(("change", "is_far"), [
    (lambda x: x * (1 + 1e-3), False), (lambda x: x.index_fill(0, torch.arange(4), 9.0), False),
    (lambda x: x.roll(1), True), (lambda x: x.half(), True), (lambda x: x.where(x < 1, torch.nan), True),
], ids=["rounded otherwise", "a few", "moved", "another type", "NaN"])  # fmt: skip
def test_rounding_is_not_far_off(change, is_far):
    expected = torch.randn(4096)

    assert bool(vast.far_off([change(expected)], [expected])) is is_far


def test_a_reference_of_another_name_is_that_of_the_file(file, tmp_path):
    reply = vast.sample_reference(dataclasses.replace(file), places=[["pages", None]], size=8, elements=64, seed=1,
                                  output=str(tmp_path / "out"))

    assert reply["shapes"] == [[7, 16]]
