"""Races that a GPU forgives are seen beside it."""

import textwrap
from pathlib import Path

import pytest
from kernel_harness.judge import second_look, verify_command
from kernel_harness.judge.outcome import Outcome, Settings
from kernel_harness.processes import worker

pytestmark = [pytest.mark.compile]
CHEATS = Path(__file__).parents[2] / "kernels" / "cheats"
SHARED = CHEATS / "d9_cute_reuse_without_barrier.py"
ELEMENTWISE = Path(__file__).parents[3] / "templates" / "elementwise.py"
IN_PLACE = textwrap.dedent("""
    import torch, triton
    import triton.language as tl

    MUTATES = [0]

    @triton.jit
    def turn(x, n, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(x + i, tl.load(x + n - 1 - i, mask=i < n), mask=i < n)

    def kernel_fn(x):
        turn[(1,)](x, x.numel(), 128)

    def reference_fn(x):
        x.copy_(x.flip(0))

    def get_inputs():
        return [torch.randn(128, device="cuda")]
""")


COUNTED = textwrap.dedent("""
    import functools
    import cutlass, torch
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

    ARCHS = ("sm_90a",)

    @cute.kernel
    def count(x: cute.Tensor, partial: cute.Tensor, counter: cute.Tensor, out: cute.Tensor):
        block, _, _ = cute.arch.block_idx()
        partial[block] = x[block] * 2
        if cute.arch.atomic_add(counter.iterator, cutlass.Int32(1), sem="relaxed", scope="gpu") == 1:
            out[0] = partial[0] + partial[1]

    @cute.jit
    def launch(x: cute.Tensor, partial: cute.Tensor, counter: cute.Tensor, out: cute.Tensor, stream):
        count(x, partial, counter, out).launch(grid=(2, 1, 1), block=(1, 1, 1), stream=stream)

    @functools.cache
    def compiled():
        f, i = cutlass.Float32, cutlass.Int32
        fakes = [make_fake_tensor(d, (n,), stride=(1,), assumed_align=4) for d, n in ((f, 2), (f, 2), (i, 1), (f, 1))]
        return cute.compile(launch, *fakes, make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")

    def kernel_fn(x):
        out, counter = torch.empty(1, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")
        compiled()(x, torch.empty_like(x), counter, out)
        return out

    def reference_fn(x):
        return 2 * x.sum(0, keepdim=True)

    def get_inputs():
        return [torch.randn(2, device="cuda")]
""")


def look(path: Path, patience: float = 300, **settings) -> Outcome:
    outcome = Outcome(Settings(kernel=path, **settings))
    with second_look.SecondLook(outcome.settings, patience) as taken:
        taken.add_to(outcome)
    assert taken.process.returncode is not None, "it outlived the verification"
    return outcome


def test_a_missing_barrier_decides():
    outcome = look(SHARED, cases=("odd",))

    assert [(found.check, found.case, int(found.code)) for found in outcome.findings] == [("simulation", "odd", 1)]
    assert "In the simulator" in outcome.findings[0].text
    assert "shared memory" in outcome.findings[0].text
    assert not look(SHARED, cases=("odd",), without=frozenset({"simulation"})).findings


def test_a_buffer_that_a_persistent_cta_uses_again_is_seen_on_a_gpu_of_few_multiprocessors():
    """With as many CTAs as a large GPU has none of the small cases gives one a second row."""
    outcome = look(CHEATS / "d9_cute_rows_of_a_persistent_cta.py")

    assert {found.check for found in outcome.findings} == {"simulation"}
    assert all("on a GPU of 1 multiprocessor: " in found.text for found in outcome.findings)
    assert "shared memory" in outcome.findings[0].text
    assert outcome.facts["second_look"]["cases"] == ["default", "odd"], "and nothing was found there"
    assert "second_look_of_few" in outcome.facts


def test_a_conflict_over_global_memory_is_a_note(tmp_path):
    path = tmp_path / "in_place.py"
    path.write_text(IN_PLACE)

    outcome = look(path)

    assert not outcome.findings
    assert "race" in outcome.notes[0]
    assert "In the simulator" in outcome.notes[0]


def test_data_behind_a_relaxed_counter_decide(tmp_path):
    path = tmp_path / "counted.py"
    path.write_text(COUNTED)

    assert [found.check for found in look(path).findings] == ["simulation"]


def test_a_result_that_hangs_on_which_cta_comes_first_decides():
    outcome = look(CHEATS / "d9_order_of_the_ctas.py", cases=("odd",))

    assert [(found.check, found.case) for found in outcome.findings] == [("cta-order", "odd")]


def test_code_that_this_gpu_does_not_run_is_named():
    kernels = [{"arch": arch, "ptx_digest": code} for arch, code in (("sm_80", "a"), ("sm_90a", "b"), ("sm_100a", "b"))]
    outcome = Outcome(Settings(kernel=ELEMENTWISE))

    verify_command.note_other_code(outcome, kernels[1:], "9.0")
    assert not outcome.notes
    verify_command.note_other_code(outcome, kernels, "9.0")
    assert "the code for sm_80 of the file's ARCHS is another" in outcome.notes[0]


def test_a_right_kernel_stays_right():

    outcome = look(ELEMENTWISE, cases=("n=7",))

    assert not outcome.findings
    assert not outcome.notes
    assert outcome.facts["second_look"]["cases"] == ["n=7"]


@pytest.mark.parametrize(
    ("case", "patience", "said"), [("n=7", 0.1, "not done after"), ("typo", 300, "typo")]
)
def test_a_look_that_was_not_taken_says_so(case, patience, said):
    outcome = look(ELEMENTWISE, patience, cases=(case,))

    assert not outcome.findings
    assert "second_look" not in outcome.facts
    assert outcome.notes[0].startswith("no second look in the simulator")
    assert said in outcome.notes[0]


def test_the_kill_of_orphans_spares_it():
    worker.kill_orphans()  # what earlier tests left
    with second_look.SecondLook(Settings(kernel=ELEMENTWISE)) as taken:
        assert worker.kill_orphans() == 0
        assert taken.process.poll() is None


@pytest.mark.parametrize(("level", "text", "wanted"), [
    ("full", "import cutlass\ndevice = 'cuda'", True),
    ("quick", "import cutlass\ndevice = 'cuda'", False),
    ("full", "import triton\ndevice = 'cuda'", False),
    ("full", "import cutlass", False),
])
def test_it_is_taken_of_kernels_for_a_gpu_at_full(tmp_path, monkeypatch, level, text, wanted):
    monkeypatch.setattr("kernel_harness.judge.startup.GPU_FILES", ("/dev/null",))
    path = tmp_path / "kernel.py"
    path.write_text(text)

    assert second_look.is_worth_it(Settings(kernel=path, level=level)) is wanted


@pytest.mark.parametrize(("level", "name", "owed"), [
    ("full", "kernel_cutlass_kernel_submissionElementwise", True),
    ("quick", "kernel_cutlass_kernel_submissionElementwise", False),
    ("full", "softmax_kernel", False),
])
def test_it_is_owed_to_kernels_that_a_file_imports(level, name, owed):
    outcome = Outcome(Settings(kernel=ELEMENTWISE, level=level))

    assert not second_look.is_owed(outcome)
    outcome.facts["kernels"] = [{"name": name, "library": False}]
    assert second_look.is_owed(outcome) is owed


def test_a_kernel_in_a_file_beside_is_looked_at(tmp_path):
    (tmp_path / "barriers.py").write_text(SHARED.read_text())
    path = tmp_path / "kernel.py"
    path.write_text("from barriers import *\n")

    assert [found.check for found in look(path, cases=("odd",)).findings] == ["simulation"]
