"""A missing cutlass name is answered with what to write; only the compiler's own words count as compile errors."""

import pytest
from kernel_harness import contract
from kernel_harness.api import compile_errors

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("text", "says"), [
    ("AttributeError: module 'cutlass.cute' has no attribute 'make_fragment'", "write cute.make_rmem_tensor"),
    ("cannot import name 'make_fragment' from 'cutlass.cute' (/somewhere/__init__.py)", "write cute.make_rmem_tensor"),
    ("No module named 'cutlass.cute.pipeline'", "write cutlass.pipeline"),
    ("module 'cutlass.cute' has no attribute 'make_layoutt'", "similar names: cute.make_layout"),
    ("module 'torch' has no attribute 'make_fragment'", ""),
    ("note: This is a bug in the DSL\n  error: range_constexpr should be preprocessed by preprocessor.", "@cute.jit"),
    ("something else", ""),
])  # fmt: skip
def test_advice(text, says):
    advice = compile_errors.advice(text)

    assert says in advice
    assert bool(says) == bool(advice)


def test_advice_follows_an_import_that_fails(tmp_path):
    path = tmp_path / "old.py"
    path.write_text("from cutlass.cute import make_fragment\n")

    with pytest.raises(contract.ContractError, match=r"write cute\.make_rmem_tensor"):
        contract.load_kernel(path)


def test_what_a_launch_raises_is_no_compile_error():
    kind = type("DSLCudaRuntimeError", (RuntimeError,), {"__module__": "cutlass.base_dsl.common"})
    other = type("DSLRuntimeError", (RuntimeError,), {"__module__": "cutlass.base_dsl.common"})

    assert not compile_errors.is_compiling(kind("no device"))
    assert compile_errors.is_compiling(other("no such layout"))
    assert not compile_errors.is_compiling(ValueError("odd sizes only"))


@pytest.mark.parametrize("text", [
    "CUDA error: unspecified launch failure\nSearch for `cudaErrorLaunchFailure' in https://docs.nvidia.com",
    "Triton Error [CUDA]: an illegal memory access was encountered",
    "Triton Error [CUDA]: misaligned address",
])  # fmt: skip
def test_a_fault_that_surfaces_inside_triton_is_no_compile_error(text):
    """As when one of the configurations of an autotuner faulted, and the next launch or event of the tuner says so."""
    code = compile("def run(error):\n    raise error", "/site-packages/triton/runtime/jit.py", "exec")
    names = {}
    exec(code, names)

    for error, compiling in ((RuntimeError(text), False), (RuntimeError("operands of other shapes"), True)):
        with pytest.raises(RuntimeError) as caught:
            names["run"](error)
        assert compile_errors.is_compiling(caught.value) is compiling


def test_a_users_folder_may_be_called_cutlass():
    source = "def _compile():\n    raise ValueError('odd sizes only')"
    code = compile(source, "/home/user/cutlass/cute/kernel.py", "exec")
    names = {}
    exec(code, names)

    with pytest.raises(ValueError, match="odd sizes") as caught:
        names["_compile"]()
    assert not compile_errors.is_compiling(caught.value)
