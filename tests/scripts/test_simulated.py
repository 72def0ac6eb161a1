"""verify_kernel.py without a GPU: small cases run in the simulator, and a wrong kernel is found there."""

import getpass
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="this machine has a GPU: nothing is simulated"),
]


@pytest.fixture(scope="module")
def first_kernel() -> str:
    """The complete kernel file of references/getting-started.md; it calls a cached compiled function directly."""
    page = (ROOT / "references/getting-started.md").read_text()
    return re.search(r"```python kernel[^\n]*\n(.*?)```", page, re.DOTALL).group(1)


def changed(source: str, changes: dict[str, str]) -> str:
    """source with the first match of each pattern replaced."""
    for old, new in changes.items():
        source, count = re.subn(old, new, source, count=1)
        assert count == 1, old
    return source


def verify(path, *options, **where):
    script = str(ROOT / "scripts/verify_kernel.py")
    command = [sys.executable, script, str(path), "--level", "quick", "--arch", "sm_90a", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **where)


def test_a_right_kernel_is_simulated_and_leaves_nothing_behind(first_kernel, tmp_path):
    path, here, temporary = tmp_path / "first.py", tmp_path / "here", tmp_path / "temporary"
    path.write_text(first_kernel)
    here.mkdir()
    temporary.mkdir()

    run = verify(path, cwd=here, env={**os.environ, "TMPDIR": str(temporary)})

    assert run.returncode == 0, run.stdout + run.stderr
    assert "verdict=SIMULATED" in run.stdout.splitlines()[-1]
    assert "simulated=sm_90a" in run.stdout
    caches = {getpass.getuser(), f"torchinductor_{getpass.getuser()}"}  # CuTe DSL's and PyTorch's, made once
    assert {path.name for path in temporary.iterdir()} <= caches
    assert not list(here.iterdir())


def test_inputs_may_come_from_a_module(first_kernel, tmp_path):
    """Module.to passes (device, None, False), and (device, dtype, False)."""
    path = tmp_path / "first.py"
    made = "torch.nn.Linear(n, 1, bias=False).to(device).to(device, dtype).weight.detach().flatten()"
    path.write_text(changed(first_kernel, {
        r"n=1 << 20": "n=1024", r"torch.randn\(n, dtype=dtype, device=device\)": made,
    }))  # fmt: skip

    run = verify(path)

    assert "nn.Linear" in path.read_text()
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_file_that_shows_one_size_hears_what_was_not_judged(first_kernel, tmp_path):
    one, more = tmp_path / "one.py", tmp_path / "more.py"
    for file, cases in ((one, ""), (more, 'TEST_CASES = {"odd": {"n": 9}}')):
        file.write_text(changed(first_kernel, {r"n=1 << 20": "n=1024", r"TEST_CASES = .*": cases}))

    notes = ["one case: no other size" in verify(file).stdout for file in (one, more)]

    assert notes == [True, False]


def test_a_barrier_that_some_threads_miss_is_named_beside_the_race(tmp_path):
    """The repair task's file: below 128 columns the barrier is reached by a part of the threads."""
    path = tmp_path / "hangs.py"
    source = (ROOT / "evals/tasks/repair-hang/workspace/kernel.py").read_text()
    path.write_text(changed(source, {r"shape=\(4, 1000\)": "shape=(3, 100)"}))

    run = verify(path)

    (finding,) = [line for line in run.stdout.splitlines() if line.startswith("FINDING simulation")]
    assert run.returncode == 1, run.stdout + run.stderr
    assert re.search(r"race: .* deadlock: .* 96 threads are at barrier 0, which waits for 100", finding)


def test_a_stream_that_nobody_joins(first_kernel, tmp_path):
    """A launch, and an operation of PyTorch's, on a stream of the file's own."""
    path = tmp_path / "first.py"
    joined = """SIDE = torch.cuda.Stream()


def kernel_fn(x, y):
    main = torch.cuda.current_stream()
    SIDE.wait_stream(main)
    with torch.cuda.stream(SIDE):
        out = on_the_current_stream(x, y)
    main.wait_stream(SIDE)
    return out


def on_the_current_stream(x, y):"""
    source = changed(first_kernel, {r"n=1 << 20": "n=1000", r"def kernel_fn\(x, y\):": joined})
    twice = source.replace("out = on_the", "out = x.add(0) * 0 + on_the")
    found = []
    for text in (source, twice):
        for left_out in ("-", "    SIDE.wait_stream(main)\n", "    main.wait_stream(SIDE)\n"):
            path.write_text(text.replace(left_out, ""))
            told = verify(path, "--case", "default").stdout
            found.append(re.findall(r"first.py:\d+: unordered-stream: .*?\[([a-z]+)", told)[:1])

    assert found == [[], ["kernel"], ["kernel"], [], ["torch"], ["torch"]]


def test_what_a_file_does_not_name_is_not_simulated(first_kernel, tmp_path):
    path = tmp_path / "first.py"
    named = "ARCHS = ('sm_80',)\n\n\ndef kernel_fn"
    path.write_text(changed(first_kernel, {r"n=1 << 20": "n=1000", r"def kernel_fn": named}))
    script = str(ROOT / "scripts/verify_kernel.py")

    run = subprocess.run([sys.executable, script, str(path), "--level", "quick", "--simulate"], capture_output=True,
                         text=True, timeout=600)

    assert run.returncode == 0, run.stdout
    assert "simulated=sm_80" in run.stdout.splitlines()[-1]


def test_a_launch_that_names_no_stream(first_kernel, tmp_path):
    """It goes to the default stream, whichever is the current one."""
    path = tmp_path / "first.py"
    path.write_text(changed(first_kernel, {r"n=1 << 20": "n=1000", r", stream=stream\)": ")"}))

    run = verify(path)

    assert run.returncode == 1, run.stdout
    assert "unordered-stream: runs on the default stream, not on the call's" in run.stdout


def test_a_later_call_that_returns_an_earlier_result(first_kernel, tmp_path):
    """A ring of 120 results: the calls that show it are made without launching anew what was launched before."""
    path = tmp_path / "first.py"
    ring = """RING = []


def kernel_fn(x, y):
    RING.append(added(x, y) if len(RING) < 120 else RING[-120])
    return RING[-1]


def added(x, y):"""
    path.write_text(changed(first_kernel, {r"n=1 << 20": "n=1000", r"def kernel_fn\(x, y\):": ring}))

    run = verify(path, "--level", "full")

    assert run.returncode == 1, run.stdout
    assert "of a row returned the memory of an earlier result" in run.stdout


def test_what_is_long_in_bench_cases_alone(first_kernel, tmp_path):
    """A grid of at most 40 CTAs is enough for every test case; no size of BENCH_CASES is small enough to simulate."""
    path = tmp_path / "first.py"
    cases = 'BENCH_CASES = {"long": {"n": 1 << 22}}\n\n\ndef kernel_fn'
    source = changed(first_kernel, {r"n=1 << 20": "n=1000", r"def kernel_fn": cases})
    path.write_text(source)
    right = verify(path, "--level", "full")
    path.write_text(changed(source, {r"grid=\(blocks, ": "grid=(cutlass.min(blocks, 40), "}))

    wrong = verify(path, "--level", "full")

    assert right.returncode == 0, right.stdout
    assert wrong.returncode == 1, wrong.stdout
    assert re.search(r"n of BENCH_CASES, halved beside n=\d+", wrong.stdout), wrong.stdout  # how often: by the pace


def test_a_launch_on_the_stream_of_the_first_call():
    """Which is compiled in, or kept beside what is: the stream differs from call to call."""
    run = verify(ROOT / "tests/kernels/cheats/b5_cute_stream_of_the_first_call.py")

    assert run.returncode == 1, run.stdout
    assert "unordered-stream: runs on the stream of an earlier call" in run.stdout


@pytest.mark.parametrize("line", [
    "SMS = torch.cuda.get_device_properties(0).multi_processor_count",
    "WORKSPACE = torch.zeros(4, device='cuda')",
    "DONE = torch.cuda.Event()",
    "CHANCE = torch.Generator(device='cuda')",
])  # fmt: skip
def test_a_file_that_asks_for_the_gpu_when_it_is_imported(first_kernel, tmp_path, line):
    path = tmp_path / "first.py"
    path.write_text(changed(first_kernel, {r"n=1 << 20": "n=1000"}) + line)

    run = verify(path)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "verdict=SIMULATED" in run.stdout.splitlines()[-1]


def test_a_result_that_hangs_on_which_cta_comes_first_is_wrong(tmp_path):
    source = (ROOT / "tests/kernels/cheats/d9_order_of_the_ctas.py").read_text()
    by_counter, by_number = tmp_path / "counter.py", tmp_path / "number.py"
    by_counter.write_text(source)
    by_number.write_text(changed(source, {
        r"mSlot\[token\] = first \+ rank": "mSlot[token] = first * 0 + expert",
        r"    chosen = .*\n    return .*": "    return expert.clone()",
    }))  # fmt: skip

    wrong, right = verify(by_counter), verify(by_number)

    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    seen = r"FINDING cta-order \[case default.*\]: With the CTAs in the opposite order the result is wrong"
    assert re.search(seen, wrong.stdout)
    assert right.returncode == 0, right.stdout + right.stderr


def test_the_code_for_each_target_is_judged_where_it_is_another(first_kernel, tmp_path):
    target = "str(cutlass.cutlass_dsl.CuTeDSL._get_dsl().get_arch_enum())"
    wrong = f"    if cutlass.const_expr({target} == 'sm_80'):\n        y = 3.0 * y\n    return x / (1.0"
    small = {r"n=1 << 20": "n=999", r"TEST_CASES = .*": ""}
    right, path = tmp_path / "right.py", tmp_path / "first.py"
    right.write_text(changed(first_kernel, small))
    path.write_text(changed(first_kernel, {**small, r"    return x / \(1.0": wrong}))

    same, seen = (verify(file, "--level", "full", "--arch", "sm_80", "sm_90a") for file in (right, path))

    assert same.returncode == 0, same.stdout + same.stderr
    assert same.stdout.splitlines()[-1].endswith("simulated=sm_90a")
    assert seen.returncode == 1, seen.stdout + seen.stderr
    assert re.search(r"In the code for sm_80: \d+ of 999 elements are wrong", seen.stdout)


def test_large_cases_are_shrunk(first_kernel, tmp_path):
    """All cases but a trivial one are too large to simulate: smaller ones are derived, which kernel_fn takes."""
    changes = {
        r"def get_inputs\(.*": 'def get_inputs(rows=2001, n=5000, dtype=torch.bfloat16, device="cuda"):',
        r"torch.randn\(n, ": "torch.randn(rows, n, ",
        r"TEST_CASES = .*": 'TEST_CASES = {"large": {"rows": 1000, "n": 4100}, "row": {"rows": 1, "n": 1000}}',
        r"def kernel_fn\(x, y\):": "def kernel_fn(x, y):\n    if x.shape[1] < 1000:\n        raise ValueError(x.shape)",
    }
    path = tmp_path / "first.py"
    path.write_text(changed(first_kernel, changes))

    run = verify(path)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "verdict=SIMULATED" in run.stdout.splitlines()[-1]
    assert "shrunk from default: rows 2001 -> 15" in run.stdout
    assert "shrunk from large: rows 1000 -> 15" in run.stdout
    assert "too large to simulate, not judged: default (39082 KiB of inputs), large (" in run.stdout


def test_a_case_that_launches_nothing_does_not_end_the_verification(first_kernel, tmp_path):
    """A single element is left to PyTorch; the case after it is judged, and is wrong."""
    changes = {
        r"TEST_CASES = .*": 'TEST_CASES = {"one": {"n": 1}, "late": {"n": 999}}',
        r"return x / \(1.0": "return x / (1.1",
        r"def kernel_fn\(x, y\):": "def kernel_fn(x, y):\n    if len(x) == 1:\n        return torch.sigmoid(x) * x * y",
    }
    path = tmp_path / "first.py"
    path.write_text(changed(first_kernel, changes))

    run = verify(path)

    assert run.returncode == 1, run.stdout + run.stderr
    assert "FINDING values [case late]" in run.stdout
    assert "[case one] kernel_fn launched nothing to simulate: only its first call was judged" in run.stdout


def test_an_unknown_instruction_in_a_later_case_is_no_pass(first_kernel, tmp_path):
    unknown = "cute.arch.inline_ptx('vadd.s32.s32.s32 {$w0}, {$r0}, 0;', write_only_types=[Int], read_only_args=[bidx])"
    changes = {
        r"TEST_CASES = .*": 'TEST_CASES = {"known": {"n": 999}, "half": {"n": 999, "dtype": torch.float16}}',
        r"    vector = bidx": "    if cutlass.const_expr(mX.element_type is cutlass.Float16):\n"
        f"        bidx = {unknown.replace('Int', 'cutlass.Int32')}\n    vector = bidx",
    }
    path = tmp_path / "first.py"
    path.write_text(changed(first_kernel, changes))

    run = verify(path)

    assert run.returncode == 6, run.stdout + run.stderr
    assert "CASE case=known" in run.stdout
    assert re.search(r"FINDING not-simulated: \[case half\] .*vadd", run.stdout)


def test_a_case_that_is_too_large_is_not_said_to_be_empty(first_kernel, tmp_path):
    path = tmp_path / "first.py"
    path.write_text(first_kernel)

    run = verify(path, "--case", "default")

    assert run.returncode == 6, run.stdout + run.stderr
    assert 'verdict="COMPILED, NOT RUN"' in run.stdout.splitlines()[-1]
    assert "no case is small enough to simulate (default (4096 KiB of inputs))" in run.stdout


def test_a_wrong_kernel_is_found(first_kernel, tmp_path):
    wrong = first_kernel.replace("torch.nn.functional.silu(", "1.1 * torch.nn.functional.silu(", 1)
    assert wrong != first_kernel
    path = tmp_path / "first.py"
    path.write_text(wrong)

    run = verify(path)

    assert run.returncode == 1, run.stdout + run.stderr
    assert "elements are wrong" in run.stdout


def test_other_values_are_no_use_to_an_empty_case(first_kernel, tmp_path):
    """The case that meets hostile values is the first that has any."""
    path = tmp_path / "first.py"
    path.write_text(changed(first_kernel, {
        r"TEST_CASES = .*": 'TEST_CASES = {"none": {"n": 0}, "some": {"n": 1000}}',
        r"def kernel_fn\(x, y\):": "def kernel_fn(x, y):\n    return at_once(x.clamp(max=40), y)\n\n\n"
        "def at_once(x, y):",
    }))  # fmt: skip

    run = verify(path, "--level", "full")

    assert run.returncode == 1, run.stdout + run.stderr
    assert "hostile inputs" in run.stdout


def test_a_gpu_of_few_multiprocessors_can_be_simulated(first_kernel, tmp_path):
    """What the host code chooses by their number alone is judged there."""
    path = tmp_path / "first.py"
    count = "torch.cuda.get_device_properties(0).multi_processor_count"
    path.write_text(changed(first_kernel, {r"return out\n": f"return out if {count} > 0 else out + 1\n"}))
    assert "NOTE simulated on a GPU of 1 multiprocessor, too: " in verify(path, "--level", "full").stdout
    path.write_text(changed(first_kernel, {r"return out\n": f"return out if {count} > 8 else out + 1\n"}))

    assert verify(path).returncode == 0
    run, full = verify(path, "--multiprocessors", "8"), verify(path, "--level", "full")

    assert run.returncode == 1, run.stdout + run.stderr
    assert "multiprocessors=8" in run.stdout.splitlines()[-1]
    assert full.returncode == 1, full.stdout + full.stderr
    assert "On a GPU of 1 multiprocessor: " in full.stdout


LARGE = {r"TEST_CASES = ": 'BENCH_CASES = {"large": {"n": 1 << 21}}\nTEST_CASES = '}
BY_SIZE = {
    r"mO: cute.Tensor\):\n    tidx": "mO: cute.Tensor, large: cutlass.Constexpr):\n    tidx",
    r", stream: cuda.CUstream\)": ", stream: cuda.CUstream, large: cutlass.Constexpr)",
    r"silu_mul_kernel\(mX, mY, mO\)": "silu_mul_kernel(mX, mY, mO, large)",
    r"x, y = rX.load\(\)": "x, y = (FACTOR if cutlass.const_expr(large) else 1.0) * rX.load()",
    r"def compiled\(dtype\)": "def compiled(dtype, large)",
    r"ffi_env_stream=True\), options": "ffi_env_stream=True), large, options",
    r"compiled\(x.dtype\)\(": "compiled(x.dtype, CONDITION)(",
}


def by_size(source, condition, factor):
    fill = lambda text: text.replace("CONDITION", condition).replace("FACTOR", factor)
    return changed(source, {**LARGE, **{pattern: fill(text) for pattern, text in BY_SIZE.items()}})


def test_code_that_only_large_cases_launch_is_named(first_kernel, tmp_path):
    """Host code picks it by size, and nothing that can be simulated launches it: small cases say nothing of it."""
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text(changed(first_kernel, LARGE))
    two.write_text(by_size(first_kernel, "x.numel() > 1 << 19", "2.0"))

    same, other = (verify(file, "--level", "full") for file in (one, two))

    assert same.returncode == other.returncode == 0, same.stdout + other.stdout
    assert "that no simulated case did" not in same.stdout
    assert "default, large, half: they launch 2 kernels that no simulated case did" in other.stdout


@pytest.mark.parametrize(("factor", "is_right"), [("(2.0 - 1.0)", True), ("2.0", False)])
def test_code_of_large_cases_is_judged_where_they_can_be_smaller(first_kernel, tmp_path, factor, is_right):
    path = tmp_path / "kernel.py"  # sizes far above the cases', which a quick machine climbs to, do not launch it
    path.write_text(by_size(first_kernel, "x.numel() and x.numel() % (1 << 17) == 0", factor))

    run = verify(path, "--level", "full")

    assert run.returncode == (0 if is_right else 1), run.stdout + run.stderr
    assert "[case default, shrunk] shrunk from default: n 1048576 -> 131072" in run.stdout
    assert re.search(r'CASE case="default, shrunk" .* ok=' + ("yes" if is_right else "no"), run.stdout), run.stdout
    assert ("FINDING values" in run.stdout) == (not is_right)
    assert "that no simulated case did" not in run.stdout


def test_a_simulated_kernel_that_the_result_does_not_need_is_a_decoy(first_kernel, tmp_path):
    path = tmp_path / "first.py"
    path.write_text(first_kernel + """

_launch = kernel_fn


def kernel_fn(x, y):
    _launch(x, y)
    return (torch.nn.functional.silu(x.float()) * y.float()).to(x.dtype)
""")

    run = verify(path)

    assert run.returncode == 7, run.stdout + run.stderr
    assert "With nothing that the file launches the result is right all the same" in run.stdout


def test_a_kernel_that_misses_its_expect_is_still_simulated(first_kernel, tmp_path):
    path = tmp_path / "first.py"
    path.write_text(first_kernel + '\nEXPECT = {"sm_90a": {"HGMMA": ">0"}}\n')

    run = verify(path)

    assert run.returncode == 1, run.stdout + run.stderr
    assert "HGMMA is 0, expected >0" in run.stdout
    assert "trials=" in run.stdout
    assert 'verdict="EXPECT NOT MET"' in run.stdout.splitlines()[-1]
    assert "simulated=sm_90a" in run.stdout.splitlines()[-1]


def test_a_launch_that_asks_the_device_for_its_shared_memory_is_simulated():
    run = verify(ROOT / "tests/kernel_harness/compiled/capture_files/min_blocks.py")

    assert "verdict=SIMULATED" in run.stdout.splitlines()[-1], run.stdout + run.stderr


def test_a_generator_on_the_played_gpu_is_still_a_class():
    """torch and kernel files write ``torch.Generator | None``."""
    program = """
from kernel_harness.simulator import driver
driver.prepare("sm_90a")
import torch
with driver.SimulatedDevice():
    generator = torch.Generator("cuda").manual_seed(7)
    assert isinstance(generator, torch.Generator | None)
    print(torch.equal(torch.rand(3, generator=generator, device="cuda"),
                      torch.rand(3, generator=torch.Generator("cuda").manual_seed(7), device="cuda")))
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT / "scripts", capture_output=True, text=True)

    assert run.stdout.strip() == "True", run.stderr


def test_configurations_are_compiled_and_simulated_one_by_one(first_kernel, tmp_path):
    path = tmp_path / "first.py"
    path.write_text(changed(first_kernel, {
        r"n=1 << 20": "n=1000",
        r"device=\"cuda\"\):": "device='cuda', how=None):",
        r"for _ in range\(2\)\]": "for _ in range(2)] + [how] * (how is not None)",
        r"def reference_fn\(x, y\)": "def reference_fn(x, y, how='')",
        r"def kernel_fn\(x, y\):": "TEST_CASES = {'tiny': {'n': 77, 'how': 'wrong'}}\n"
        "BENCH_CASES = {'large': {'n': 1 << 20}}\n"
        "EXPECT = {'sm_90a': {'registers': '<=1'}}\n"  # which no configuration has to keep
        "TUNING_SPACE = {'how': ['right', 'wrong', 'never']}\n\n\n"
        "def tuning_constraint(x, y, how):\n    return how != 'never' or 'not here'\n\n\n"
        "def kernel_fn(x, y, how='right'):\n    return at_once(x, y) * (1 + (how == 'wrong'))\n\n\ndef at_once(x, y):",
    }))  # fmt: skip
    command = [sys.executable, str(ROOT / "scripts/tune_kernel.py"), str(path), "--format", "json", "--case", "tiny"]

    run = subprocess.run(command, capture_output=True, text=True, timeout=600)

    document = json.loads(run.stdout)
    assert run.returncode == 1, run.stderr
    rows = {row["config"].get("how", ""): row for row in document["configurations"]}
    verdicts = {how: row["verdict"] for how, row in rows.items()}
    assert verdicts == {
        "": "WRONG RESULT",  # the case passes a configuration of its own, which those of the space replace
        "right": "SIMULATED",
        "wrong": "WRONG RESULT",
        "never": "LEFT OUT: not here",
    }
    assert document["case"] == "tiny"
    assert rows["right"]["registers"] > 0
    assert rows["right"]["spill_bytes"] == 0
    assert not list(tmp_path.glob("*.jsonl"))  # the journal is of times
