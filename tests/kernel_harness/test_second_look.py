"""Races that a GPU forgives are seen beside it."""

import textwrap
from pathlib import Path

import pytest
from kernel_harness import second_look, worker
from kernel_harness.outcome import Outcome, Settings

pytestmark = [pytest.mark.compile]
CHEATS = Path(__file__).parents[1] / "kernels" / "cheats"
SHARED = CHEATS / "d9_cute_reuse_without_barrier.py"
ELEMENTWISE = Path(__file__).parents[2] / "templates" / "elementwise.py"
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


def look(path: Path, patience: float = 300, **settings) -> Outcome:
    outcome = Outcome(Settings(kernel=path, **settings))
    with second_look.SecondLook(outcome.settings) as taken:
        taken.add_to(outcome, patience)
    assert taken.process.returncode is not None, "it outlived the verification"
    return outcome


def test_a_missing_barrier_decides():
    pytest.importorskip("cutlass")

    outcome = look(SHARED, cases=("odd",))

    assert [(found.check, found.case, int(found.code)) for found in outcome.findings] == [("simulation", "odd", 1)]
    assert "In the simulator" in outcome.findings[0].text
    assert "shared memory" in outcome.findings[0].text
    assert not look(SHARED, cases=("odd",), without=frozenset({"simulation"})).findings


def test_a_conflict_over_global_memory_is_a_note(tmp_path):
    pytest.importorskip("triton")
    path = tmp_path / "in_place.py"
    path.write_text(IN_PLACE)

    outcome = look(path)

    assert not outcome.findings
    assert "race" in outcome.notes[0]
    assert "In the simulator" in outcome.notes[0]


def test_a_right_kernel_stays_right():
    pytest.importorskip("cutlass")

    outcome = look(ELEMENTWISE, cases=("n=7",))

    assert not outcome.findings
    assert not outcome.notes
    assert outcome.facts["second_look"]["cases"] == ["n=7"]


@pytest.mark.parametrize(
    ("case", "patience", "said"), [("n=7", 0.1, "not done after"), ("typo", 300, "typo")]
)
def test_a_look_that_was_not_taken_says_so(case, patience, said):
    pytest.importorskip("cutlass")

    outcome = look(ELEMENTWISE, patience, cases=(case,))

    assert not outcome.findings
    assert "second_look" not in outcome.facts
    assert outcome.notes[0].startswith("no second look in the simulator")
    assert said in outcome.notes[0]


def test_the_kill_of_orphans_spares_it():
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
    monkeypatch.setattr("kernel_harness.startup.GPU_FILES", ("/dev/null",))
    path = tmp_path / "kernel.py"
    path.write_text(text)

    assert second_look.is_worth_it(Settings(kernel=path, level=level)) is wanted
