"""Host code of templates/elementwise.py: how operands are planned, and what it refuses. No kernel runs."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.compile   # imports cutlass; compiles nothing

ROOT = Path(__file__).parents[2]
PATH, SCRIPTS = ROOT / "templates" / "elementwise.py", ROOT / "scripts"


@pytest.fixture(scope="module")
def template():
    pytest.importorskip("cutlass")
    spec = importlib.util.spec_from_file_location("elementwise_template", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def plan(template, monkeypatch):
    """_plan of bfloat16 operands, with the configuration in place of the compiled launcher."""
    import torch

    monkeypatch.setattr(template, "_launcher", lambda *configuration: configuration)

    def plan(facts, alignment=16, dtype=torch.bfloat16):
        first = next((torch.empty_strided(*fact) for fact in facts if isinstance(fact, tuple)), torch.empty(()))
        return template._plan.__wrapped__(dtype, alignment, torch.empty_like(first).stride(), *facts)

    return plan


def tensor(shape, stride=None):
    import torch

    return torch.Size(shape), stride or torch.empty(shape, device="meta").stride()


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
    launch, found_shape, *found = plan((first, second))

    assert found_shape == shape
    assert tuple(found) == geometry
    assert launch[2:4] == (8 if geometry == FLAT else 1, len(geometry[0] or ()))
    assert launch[1][1:] == tuple(len(fact[0]) if isinstance(fact, tuple) else None for fact in (first, second))


def test_nothing_is_launched_for_no_element(plan):
    assert plan((tensor((0, 6)), tensor((6,)))) == (None, None, None, None)


@pytest.mark.parametrize(("alignment", "vector"), [(16, 8), (8, 4), (4, 2), (2, 1)])
def test_the_vector_fits_the_alignment(plan, alignment, vector):
    assert plan((tensor((64,)), tensor((64,))), alignment)[0][2] == vector


def test_sizes_are_64_bit_from_2_to_the_30_on(plan):
    assert plan((tensor((2**30 - 1,)), float))[0][4] is False
    assert plan((tensor((2**31 + 8,)), float))[0][4] is True


X = tensor((4, 6))


@pytest.mark.parametrize("facts", [(X,), (X, X, X), (float, int), (X, str), (X, type(None))])
def test_a_plan_takes_as_many_tensors_and_numbers_as_the_operation(plan, facts):
    with pytest.raises(ValueError, match="takes 2 numbers or tensors"):
        plan(facts)


def test_a_plan_refuses_other_dtypes_and_shapes(plan):
    import torch

    with pytest.raises(ValueError, match=r"got \(torch.float64, torch.float64\)"):
        plan((X, X), dtype=torch.float64)
    with pytest.raises(ValueError, match=r"\[\(4, 6\), \(5,\)\] do not broadcast"):
        plan((X, tensor((5,))))


def test_what_it_cannot_take_gets_a_value_error_that_says_what_it_got(template):
    import torch

    x = torch.ones(4, dtype=torch.bfloat16)

    for operands, got in (((x, x), "torch.bfloat16 on cpu"), ((1.0, 2), "got no tensor"), ((), "got no tensor"),
                          ((x.clone().requires_grad_(), x), "requires_grad=True")):
        with pytest.raises(ValueError, match=got):
            template.kernel_fn(*operands)


def test_a_dtype_or_device_that_tvm_ffi_refuses_gets_the_same_sentence(tmp_path):
    """On the stand-in for a GPU, in a process of its own; the second operand differs from the first in its dtype."""
    file = tmp_path / "mixed.py"
    file.write_text(PATH.read_text().replace("return [*others, VIEWS[view](last)]",
                                             "return [*others, VIEWS[view](last).to(torch.float16)]"))
    command = [sys.executable, SCRIPTS / "inspect_kernel.py", file, "--arch", "sm_90a"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert "got torch.bfloat16 on cuda:0, requires_grad=False; torch.float16 on cuda:0" in run.stdout + run.stderr


def test_inputs_of_every_case_are_what_they_say(template):
    for name, case in template.TEST_CASES.items():
        first, last = template.get_inputs(**case, device="meta" if case.get("view") != "number" else "cpu")

        assert first.shape == case["shape"], name
        if case.get("view") == "number":
            assert isinstance(last, float)
        else:
            assert template.reference_fn(first, last).shape == first.shape
