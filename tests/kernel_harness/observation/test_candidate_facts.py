"""What the candidate reports of a call: whose kernels ran, which code, how far two results are apart."""

import array
import ast
import contextlib
import itertools
import math
import sys
import types
import weakref
from pathlib import Path

import pytest
import torch
from kernel_harness import outputs, values
from kernel_harness.observation import census, failures, in_turn, reference_guard, slots, tracing
from kernel_harness.observation.fingerprint import Pending
from kernel_harness.roles import candidate

pytestmark = pytest.mark.cpu


@pytest.fixture
def profiled(monkeypatch):
    """Counts the kernels of a call whose profile holds kernels of these names."""

    def count(*names: str, defined=()) -> dict[str, bool]:
        device = types.SimpleNamespace(name="CUDA")
        events = [types.SimpleNamespace(name=name, device_type=device, device_time=1.0) for name in names]
        profile = types.SimpleNamespace(__enter__=None, events=lambda: events)
        context = type("Profile", (), {"__init__": lambda self, **_: None, "__enter__": lambda self: profile,
                                       "__exit__": lambda self, *_: None})
        monkeypatch.setattr(torch.profiler, "profile", context)
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
        _, rows = census.count_kernels(lambda: None, [], list(defined))
        return {row["name"]: row["library"] for row in rows}

    return count


def test_a_kernel_that_the_file_defines_is_its_own_whatever_its_name(profiled):
    found = profiled("fmha_fwd", "cublasGemm", "Memset (Device)", defined=["fmha_fwd"])

    assert found == {"fmha_fwd": False, "cublasGemm": True}


def test_a_call_of_the_reference_is_no_crash_in_any_question():
    answer = failures.answer(reference_guard.ReferenceCalled(), Path("kernel.py"))

    assert answer == {"cheat": "kernel_fn calls reference_fn"}


def test_a_result_is_remembered_by_a_view_that_outlives_it(monkeypatch):
    monkeypatch.setattr(candidate, "_file", types.SimpleNamespace(mutates=frozenset()))
    monkeypatch.setattr(candidate, "_history", [])
    result, gone = torch.ones(3), []
    weakref.finalize(result, gone.append, True)

    candidate._remember("call 1", result, [])
    del result

    assert gone
    assert candidate._history[0][1].tolist() == [1.0] * 3


def test_an_import_inside_both_functions_is_no_shared_native_code(tmp_path):
    """CPython loads a module through C functions of marshal and others: they are nobody's kernel."""
    module = tmp_path / "loaded_late_for_a_test.py"
    module.write_text("VALUE = 1\n")
    path = tmp_path / "kernel.py"

    def imports_late():
        import importlib.util

        specification = importlib.util.spec_from_file_location("loaded_late", module)
        specification.loader.exec_module(importlib.util.module_from_spec(specification))

    imports_late()  # leaves the compiled file from which the next one is read
    _, facts = tracing.trace_call(imports_late, [], Path(path))

    assert facts["native"] == []


def test_a_method_that_a_python_class_inherits_is_no_native_code():
    """SymPy, which torch.autograd.grad imports late, calls list's and dict's methods on such classes."""
    stack = type("Stack", (list,), {"__module__": "somebody.package"})()
    table = type("Table", (dict,), {"__module__": "somebody.package"})()

    _, facts = tracing.trace_call(lambda: (stack.append(1), table.get(2)), [], Path("kernel.py"))

    assert facts["native"] == []


def test_a_method_that_an_extension_defines_is_native_code_on_a_subclass_too(monkeypatch):
    monkeypatch.setattr(tracing, "LIBRARIES", tracing.LIBRARIES - {"array"})
    numbers = type("Numbers", (array.array,), {"__module__": "somebody.package"})("f")

    _, facts = tracing.trace_call(lambda: numbers.append(1.0), [], Path("kernel.py"))

    assert facts["native"] == ["array"]


@pytest.mark.parametrize(("handed", "given"), [
    ("x, w", True), ("x.clone(), w", True), ("x, w.T.contiguous()", True), ("x.double(), w.double()", True),
    ("x, w + 1", False), ("x[:3], w", True), ("x.new_zeros(0), w.new_zeros(0)", False),
])  # fmt: skip
def test_a_helper_makes_it_all_where_it_is_handed_the_inputs_or_copies(handed, given, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(f"def helper(x, w):\n    return [x, w]\n\ndef kernel(x, w):\n    return helper({handed})\n")
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    _, facts = tracing.trace_call(names["kernel"], [torch.randn(4, 6), torch.randn(5, 6)], path)

    assert facts["returns"] == ["helper:1", "kernel:4"]
    assert ("helper:1" in facts["given"]) == given
    assert "kernel:4" in facts["given"]


def test_code_that_was_compiled_from_a_string_is_known_by_what_it_does(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("def reference(x):\n    return sorted(x)\n")
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)

    def traced(text):
        space: dict = {}
        exec(compile(text, "<string>", "exec"), space)
        return tracing.trace_call(space["f"], [[2, 1]], path)[1]["compiled"]

    _, facts = tracing.trace_call(names["reference"], [[2, 1]], path)

    assert (len(facts["bodies"]), facts["compiled"]) == (1, [])
    assert traced("\n\ndef f(x):\n    return sorted(x)\n") == facts["bodies"]
    assert traced("def f(x):\n    return list(x)\n") not in ([], facts["bodies"])


def test_code_is_known_though_an_import_beside_it_changes_how_its_calls_compile(tmp_path):
    body = "def reference(x):\n    return math.floor(x * 2) + 1\n"
    path, alone, beside, other = tmp_path / "kernel.py", {"math": math}, {}, {"math": math}
    exec(compile(body, "<string>", "exec"), alone)
    exec(compile("import math\n" + body, str(path), "exec"), beside)
    exec(compile(body.replace("*", "-"), "<string>", "exec"), other)
    wanted = tracing.trace_call(beside["reference"], [1.5], path)[1]["bodies"]

    assert tracing.trace_call(alone["reference"], [1.5], path)[1]["compiled"] == wanted
    assert tracing.trace_call(other["reference"], [1.5], path)[1]["compiled"] != wanted


def test_the_loop_goes_on_while_results_are_the_same(tmp_path, monkeypatch):
    """The forty-first call of a ring of forty is seen; a kernel whose results differ is called 12 times."""
    bundle = values.save([torch.ones(8)], tmp_path / "inputs").to_json()
    ring = itertools.cycle([torch.empty(8) for _ in range(40)])
    monkeypatch.setattr(candidate, "_around", contextlib.nullcontext)
    for kernel_fn, expected in (
        (lambda x: torch.add(x, 1, out=next(ring)), {"reused": 41}),
        (lambda x: x + torch.rand(8), {"reused": 0, "calls": 12}),
    ):
        monkeypatch.setattr(candidate, "_file", types.SimpleNamespace(kernel_fn=kernel_fn, mutates=frozenset()))
        files = [str(tmp_path / f"out{i}-{len(expected)}") for i in range(3)]
        reply = candidate.alternate(bundle, bundle, "a", files, 12, [5.0, 2.0])
        assert {name: reply[name] for name in expected} == expected


@pytest.mark.parametrize(("buffers", "reused"), [(2, 3), (7, 8), (1, 0), (0, 0)], ids=str)
def test_a_result_in_the_memory_of_an_earlier_one(tmp_path, monkeypatch, buffers, reused):
    """One buffer for all is left to the look at earlier results: it may hold a constant."""
    bundle = values.save([torch.ones(8)], tmp_path / "inputs").to_json()
    ring = itertools.cycle([torch.empty(8) for _ in range(buffers)] or [None])
    kernel = types.SimpleNamespace(kernel_fn=lambda x: torch.add(x, 1, out=next(ring)), mutates=frozenset())
    monkeypatch.setattr(candidate, "_file", kernel)
    monkeypatch.setattr(candidate, "_around", contextlib.nullcontext)

    reply = candidate.alternate(bundle, bundle, "a", [str(tmp_path / f"out{i}") for i in range(3)], 12, [5.0, 0])

    assert reply["reused"] == reused


def test_distance_of_results_that_are_compared_in_parts(monkeypatch):
    monkeypatch.setattr(outputs, "GAP_ELEMENTS", 8)
    a = torch.zeros(1, 7, 5)
    b = a.clone()
    b[0, 6, 4] = -3.0

    assert outputs.distance([a, torch.tensor(1)], [b, torch.tensor(1)]) == 3.0
    assert outputs.distance(a.flatten(), a.flatten()) == 0.0


def test_fingerprints_of_a_result_on_both_devices_compare():
    here, there = (3, 4), torch.tensor([1, 2])

    assert Pending([here, there]) == Pending([here, there.clone()])
    assert Pending([here, there]) != Pending([here, there + 1])


def test_a_scalar_on_the_cpu_beside_tensors_on_the_gpu(tmp_path, monkeypatch):
    """Blocks stand for what lies on the GPU; the scalar stays in the file."""
    bundle = values.save([torch.tensor(2.0), torch.ones(8)], tmp_path / "inputs").to_json()
    bundle["spans"][1][2] = "cpu:0"   # takes the GPU's way
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    kernel = types.SimpleNamespace(kernel_fn=lambda scale, x: x * scale, mutates=frozenset())
    monkeypatch.setattr(candidate, "_file", kernel)
    monkeypatch.setattr(candidate, "_around", contextlib.nullcontext)

    reply = candidate.alternate(bundle, bundle, "a", [str(tmp_path / f"out{i}") for i in range(3)], 4, [1.0, 0])

    assert (reply.get("calls"), reply.get("distinct")) == (4, [1, 1]), reply
    entry = slots.prepare(bundle, "a", "bumped", None)
    assert list(entry.blocks) == [1]
    assert candidate.device(entry) == str(entry.blocks[1].device)


@pytest.mark.parametrize("timed", [True, False])
def test_a_call_comes_right_after_others_in_the_same_memory(tmp_path, monkeypatch, timed):
    bundle, other = (values.save([torch.full((8,), n)], tmp_path / f"inputs {n}").to_json() for n in (1.0, 2.0))
    met = []
    kernel = types.SimpleNamespace(kernel_fn=lambda x: met.append((x.data_ptr(), float(x[0]), x._version)) or 3 * x,
                                   mutates=frozenset())
    monkeypatch.setattr(candidate, "_file", kernel)
    monkeypatch.setattr(candidate, "_around", contextlib.nullcontext)

    reply = candidate.soon(bundle, other, "a", str(tmp_path / "out"), timed)

    before = len(met) - 1
    assert before == in_turn.WARM if timed else in_turn.WARM < before <= in_turn.BURST
    assert [value for _, value, _ in met] == [2.0] * before + [1.0]
    assert len({address for address, _, _ in met}) == 1
    assert len({version for _, _, version in met}) == len(met)
    assert len(reply["seconds"]) == before + 1
    result = values.Mapping(values.Bundle.from_json(reply["bundle"]), writable=False)
    node = result.bundle.tree["items"]["result"]
    assert values.rebuild(node, result.bytes_of).tolist() == [3.0] * 8


@pytest.mark.parametrize(("folder", "found"), [("torch/_native/ops", None), ("elsewhere", "Triton")])
def test_a_kernel_that_pytorch_launches_itself_is_no_launch_of_the_file(tmp_path, monkeypatch, folder, found):
    """PyTorch's own operators use Triton and CuTe DSL; a reference may call those operators."""
    jit, caller = tmp_path / "triton/runtime/jit.py", tmp_path / folder / "operator.py"
    for path, text in ((jit, "def run(x):\n    return x\n"), (caller, "def operator(x):\n    return run(x)\n")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    names: dict = {}
    for path in (jit, caller):
        exec(compile(path.read_text(), str(path), "exec"), names)
    monkeypatch.setattr(torch, "__file__", str(tmp_path / "torch/__init__.py"))

    _, facts = tracing.trace_call(names["operator"], [1], tmp_path / "kernel.py")

    assert facts["dsl"] == found


def test_an_import_of_a_kernel_language_is_no_launch(tmp_path, monkeypatch):
    """As the first call of a torch.library.custom_op imports Triton's autotuner."""
    runtime = tmp_path / "triton/runtime"
    runtime.mkdir(parents=True)
    (runtime / "autotuner.py").write_text("class Autotuner:\n    pass\n")
    monkeypatch.syspath_prepend(str(runtime))

    _, facts = tracing.trace_call(lambda: __import__("autotuner") and None, [], tmp_path / "kernel.py")

    assert "Autotuner" in vars(sys.modules.pop("autotuner"))
    assert facts["dsl"] is None


@pytest.mark.parametrize(("name", "library"), [
    ("_ZN7cutlass13device_kernelIN2at4cuda6detail25enable_3x_kernel_for_sm9xINS_4gemm6kernel", True),
    ("_ZN7cutlass13device_kernelIN4mine6KernelEEEvNT_6ParamsE", False), ("_Z6kernelN2at15PhiloxCudaStateE", False)])
def test_a_kernel_of_pytorch_is_known_by_its_mangled_name(name, library):
    assert census.of_library(name, []) is library


def test_operators_of_the_file_are_told_from_others():
    library = torch.library.Library("tracing_told", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CPU")
    called = {"packet": lambda x: torch.ops.tracing_told.twice(torch.ops.aten.neg(x)),
              "overload": lambda x: torch.ops.tracing_told.twice.default(x)}

    for function in called.values():
        facts = tracing.trace_call(function, [torch.ones(2)], Path(__file__))[1]
        assert "tracing_told" in facts["operators"]
        tree = ast.parse("library = torch.library.Library('tracing_told', 'DEF')")
        assert tracing.registered_by(tree, facts["operators"]) == ["tracing_told"]
        assert tracing.registered_by(ast.parse("x = 'another'"), facts["operators"]) == []
