"""Kernel files that know nothing of it are compiled and their launches recorded, without a GPU."""

import re
import struct
from pathlib import Path

import pytest
from kernel_harness.cli import UsageError
from kernel_harness.compiled import capture, inspection
from kernel_harness.contract import ContractError
from kernel_harness.verdict import ExitCode

FILES = Path(__file__).parent / "capture_files"
compiles = pytest.mark.compile


def line_of(name, text):
    """``name:line`` of the first line of a fixture that holds ``text``."""
    lines = (FILES / name).read_text().splitlines()
    return f"{name}:{next(i for i, line in enumerate(lines, 1) if text in line)}"


def only(kernels):
    assert len(kernels) == 1
    return kernels[0]


@compiles
def test_a_file_that_uses_from_dlpack_and_compiles_in_kernel_fn():
    kernel = only(capture.compile_file(FILES / "plain_cute.py", ["sm_90a"]))
    launch = only(kernel.launches)
    tensor = only(kernel.tensors["default"])

    assert ".target sm_90a" in kernel.ptx
    assert kernel.cubin.startswith(b"\x7fELF")
    assert (launch.grid, launch.block, launch.cluster) == ((32, 1, 1), (256, 1, 1), (1, 1, 1))
    assert launch.dynamic_shared_bytes == 0
    assert struct.unpack("<Q", launch.parameters[0]) == (tensor["address"],)
    assert launch.pointers == ({"parameter": 0, "offset": 0, "input": 0, "byte": 0},)


@compiles
def test_a_jit_function_that_is_called_without_being_compiled_first_and_spills():
    report = inspection.inspect(FILES / "spills.py", ["sm_90a"])
    kernel = only(report.document["kernels"])

    assert report.exit_code is ExitCode.WRONG_RESULT
    assert kernel["spill_bytes"] > 1000
    assert kernel["stack_bytes"] > 0
    assert any(line_of("spills.py", "values[(i + 7)") in note for note in report.notes)


@compiles
def test_lost_vectorisation_is_named_and_kept_vectors_are_not():
    lost = inspection.inspect(FILES / "lost_vectors.py", ["sm_90a"], ["default"])
    kept = inspection.inspect(FILES / "lost_vectors.py", ["sm_90a"], ["vectors"])

    assert only(lost.document["kernels"])["ptx_global"] == {"ld.16": 8, "st.16": 8}
    place = line_of("lost_vectors.py", "autovec_copy")
    assert any(place in note and "mark_layout_dynamic" in note for note in lost.notes)
    assert only(kept.document["kernels"])["ptx_global"] == {"ld.128": 1, "st.128": 1}
    assert not kept.notes


@compiles
def test_a_triton_kernel_that_is_autotuned():
    kernel = only(capture.compile_file(FILES / "triton_add.py", ["sm_90a"]))
    launch = only(kernel.launches)

    assert kernel.language == "Triton"
    assert (launch.grid, launch.block) == ((64, 1, 1), (128, 1, 1))


@compiles
def test_the_elementwise_template_compiles_once_per_configuration_and_not_per_shape():
    template = Path(__file__).parents[3] / "templates" / "elementwise.py"
    kernels = capture.compile_file(template, ["sm_80"], ["default", "n=1", "n=7", "n=4096", "fp32", "flat"])

    assert [kernel.cases for kernel in kernels] == [["default", "n=1", "n=7", "n=4096", "flat"], ["fp32"]]
    assert len(kernels[0].launches) == 5


@compiles
@pytest.mark.parametrize(("name", "code", "says"), [
    ("does_not_compile.py", ExitCode.COMPILE_ERROR, "no attribute 'no_such_function'"),
    ("raises.py", ExitCode.UNDECIDED, "only odd sizes"),
    ("plain_torch.py", ExitCode.UNDECIDED, "compiled no CuTe DSL, Triton or CUDA C++ kernel"),
])
def test_a_file_that_gives_no_kernel_says_why(name, code, says):
    report = inspection.inspect(FILES / name, ["sm_90a"])

    assert report.exit_code is code
    assert says in report.findings[0]
    assert "site-packages" not in report.findings[0]


@compiles
@pytest.mark.parametrize(("wrong", "says"), [
    ("cute.make_layout((4, 4))", "CALL_OUTSIDE_JIT"),
    ("from_dlpack(torch.empty(1, 1)).mark_layout_dynamic()", "leading dimension"),
    ("cute.compile(scale, from_dlpack(x), 3, 4, 5)", "bind arguments"),
])
def test_what_the_dsl_says_on_the_host_side_is_a_compile_error(wrong, says, tmp_path):
    text = (FILES / "plain_cute.py").read_text()
    path = tmp_path / "host_side.py"
    path.write_text(re.sub(r"(def kernel_fn\(x.*\n)", rf"\1    {wrong}\n", text))
    assert wrong in path.read_text()

    report = inspection.inspect(path, ["sm_90a"])

    assert report.exit_code is ExitCode.COMPILE_ERROR
    assert says in report.findings[0]


@compiles
def test_a_name_that_is_gone_is_answered_with_what_to_write(tmp_path):
    text = (FILES / "does_not_compile.py").read_text()
    path = tmp_path / "old.py"
    path.write_text(text.replace("no_such_function", "make_fragment"))

    report = inspection.inspect(path, ["sm_90a"])

    assert "cute.make_fragment was removed in 4.6; write cute.make_rmem_tensor" in report.findings[0]


@compiles
def test_a_file_that_hangs_is_killed():
    report = inspection.inspect(FILES / "hangs.py", ["sm_90a"], timeout=20)

    assert report.exit_code is ExitCode.CRASH
    assert "no answer within 20 s" in report.findings[0]


@compiles
def test_without_nvdisasm_expect_is_undecided(monkeypatch):
    monkeypatch.setattr("kernel_harness.compiled.sass.find_nvdisasm", lambda: None)
    report = inspection.inspect(FILES / "spills.py", ["sm_90a"])

    assert report.exit_code is ExitCode.UNDECIDED
    assert only(report.document["kernels"])["spill_bytes"] is None
    assert any("missing, not zero" in note for note in report.notes)


@compiles
def test_an_unknown_case_is_a_mistake_of_usage():
    with pytest.raises(UsageError, match=r"--case 'large': no such case; .* has 'default'"):
        capture.compile_file(FILES / "plain_torch.py", ["sm_90a"], ["large"])


@compiles
@pytest.mark.parametrize("archs", ["5", "None", "()", "[['sm_90a']]"])
def test_archs_that_are_no_names_are_a_contract_error(archs, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text((FILES / "plain_torch.py").read_text() + f"\nARCHS = {archs}\n")

    with pytest.raises(ContractError, match="ARCHS"):
        capture.compile_file(path)


@pytest.mark.cpu
def test_a_missing_file_is_a_contract_error_before_any_process_starts():
    with pytest.raises(ContractError, match="no such file"):
        capture.compile_file(FILES / "nowhere.py", ["sm_90a"])


@pytest.mark.cpu
def test_what_befalls_every_case_is_said_once():
    def failure(case, text):
        return capture.CaptureError(f"k.py (sm_90a, case {case}) {text}", ExitCode.COMPILE_ERROR, "line 1")

    said = "does not compile: x"
    told = inspection._told([failure("a", said), failure("b", said), failure("b", "y")])

    assert told == [
        "k.py (sm_90a, case a) does not compile: x (and 1 times more)\nline 1",
        "k.py (sm_90a, case b) y\nline 1",
    ]


@compiles
def test_a_launch_that_asks_the_device_for_its_shared_memory():
    """min_blocks_per_mp above 1: the DSL asks while it compiles."""
    kernel = only(capture.compile_file(FILES / "min_blocks.py", ["sm_90a"]))

    assert ".minnctapersm 2" in kernel.ptx
