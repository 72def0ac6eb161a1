"""Host code of templates/elementwise.py: how operands are planned, and what it refuses. No kernel runs."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.compile   # imports cutlass; compiles nothing

PATH = Path(__file__).parents[2] / "templates" / "elementwise.py"


@pytest.fixture(scope="module")
def template():
    pytest.importorskip("cutlass")
    spec = importlib.util.spec_from_file_location("elementwise_template", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def plan(template, monkeypatch):
    """_plan with the configuration in place of the compiled launcher."""
    monkeypatch.setattr(template, "_launcher", lambda *configuration: configuration)
    return template._plan.__wrapped__


def tensor(shape, stride=None, dtype=None, device="cuda:0", needs_grad=False):
    import torch

    stride = stride or torch.empty(shape, device="meta").stride()
    return (dtype or torch.bfloat16, torch.device(device), needs_grad, torch.Size(shape), stride)


FLAT = (None, None)


@pytest.mark.parametrize(("first", "second", "shape", "geometry"), [
    (tensor((4, 6)), tensor((4, 6)), None, FLAT),
    (tensor((4, 6), (1, 4)), tensor((4, 6), (1, 4)), None, FLAT),                       # both transposed
    (tensor((4, 6)), tensor((4, 6), (1, 4)), None, ((6, 4), ((1, 6), (4, 1)))),         # one of them
    (tensor((4, 6), (12, 1)), tensor((4, 6), (12, 1)), None, ((6, 4), ((1, 12), (1, 12)))),
    (tensor((4, 6), (12, 2)), tensor((4, 6)), None, ((24,), ((2,), (1,)))),             # merges to one mode
    (tensor((4, 6)), tensor((6,)), None, ((6, 4), ((1, 6), (1, 0)))),                   # a row
    (tensor((4, 6)), tensor(()), None, ((24,), ((1,), (0,)))),                          # a tensor of one element
    (tensor((4, 6)), float, None, FLAT),
    (int, tensor((4, 6)), None, FLAT),
    (tensor((6,)), tensor((4, 1)), (4, 6), ((6, 4), ((1, 0), (0, 1)))),
    (tensor(()), tensor(()), None, FLAT),
    (tensor((2, 3, 4, 5)), tensor((2, 3, 4, 5), (60, 20, 5, 1)), None, FLAT),
    (tensor((1, 5, 1), (99, 1, 7)), tensor((1, 5, 1)), None, FLAT),                     # strides of size 1 do not count
])
def test_geometry(plan, first, second, shape, geometry):
    launch, found_shape, *found = plan((first, second), 16)

    assert found_shape == shape
    assert tuple(found) == geometry
    assert launch[2:4] == (8 if geometry == FLAT else 1, len(geometry[0] or ()))


def test_nothing_is_launched_for_no_element(plan):
    assert plan((tensor((0, 6)), tensor((6,))), 16) == (None, None, None, None)


@pytest.mark.parametrize(("alignment", "vector"), [(16, 8), (8, 4), (4, 2), (2, 1)])
def test_the_vector_fits_the_alignment(plan, alignment, vector):
    assert plan((tensor((64,)), tensor((64,))), alignment)[0][2] == vector


def test_sizes_are_64_bit_from_2_to_the_30_on(plan):
    assert plan((tensor((2**30 - 1,)), float), 16)[0][4] is False
    assert plan((tensor((2**31 + 8,)), float), 16)[0][4] is True


def bad(template):
    import torch

    x = tensor((4, 6))
    return {
        "takes 2 tensors or numbers": [(x,), (x, x, x), (float, int), (x, str), (x, type(None))],
        "one CUDA device": [(x, tensor((4, 6), device="cuda:1")), (tensor((4,), device="cpu"),) * 2,
                            (x, tensor((4, 6), dtype=torch.float16)), (tensor((4,), dtype=torch.float64),) * 2],
        "do not broadcast": [(x, tensor((5,)))],
        "no backward": [(x, tensor((4, 6), needs_grad=True))],
    }


def test_what_it_cannot_take_gets_a_value_error(template, plan):
    for says, many in bad(template).items():
        for metadata in many:
            with pytest.raises(ValueError, match=says):
                plan(metadata, 16)


def test_inputs_of_every_case_are_what_they_say(template):
    for name, case in template.TEST_CASES.items():
        first, last = template.get_inputs(**case, device="meta" if case.get("view") != "number" else "cpu")

        assert first.shape == case["shape"], name
        if case.get("view") == "number":
            assert isinstance(last, float)
        else:
            assert template.reference_fn(first, last).shape == first.shape
