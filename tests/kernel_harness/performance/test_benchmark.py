"""The judge's own decisions: what is reported, what two runs may be held against each other, what a journal keeps."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_harness.cli import UsageError
from kernel_harness.performance import benchmark_report, run_comparison, tuning
from kernel_harness.performance.statistics import Difference
from kernel_harness.performance.tuning_journal import Journal, text_of
from kernel_harness.report import plain
from kernel_harness.verdict import ExitCode

pytestmark = pytest.mark.cpu


def contender(name, us, rounds=24):
    """A contender's entry with rounds that jitter by a part in a thousand."""
    rounds_us = [us * (1 + 0.001 * ((index * 7) % 5 - 2)) for index in range(rounds)]
    return {"name": name, "lost": None, "median_us": us, "p10_us": us * 0.99, "p90_us": us * 1.01, "count": 200,
            "rounds_us": rounds_us, "rounds": rounds, "samples_compared": 3, "starved_bursts": 0, "streams": 1,
            "launches": 1, "event_us": us + 3, "new_values_us": us, "warm_us": us * 0.9, "host_us": 8.0,
            "import_s": 1.0, "first_call_s": 2.0, "sha256": "ab",
            "method": "cupti", "note": "", "rotation": "cold L2 by rotation over 3 input sets", "device": "cuda",
            "input_bytes": 64, "output_bytes": 32, "bytes_moved": 96, "bytes_are_counted": True, "flops": None,
            "roofline": {"bytes_per_second": 4e12, "flops_per_second": None, "floor_us": us * 0.9, "limit": "memory",
                         "percent": 90.0, "refusal": None}}


def document(us=20.0, gpu="NVIDIA H200", sha256="ab", shapes=("float32[8]",), charges=(), **kernel):
    """A run of one case against eager PyTorch."""
    ratio = {"estimate": 2.0, "low": 1.99, "high": 2.01, "confidence": 0.99, "pairs": 24}
    contenders = [contender("kernel", us) | kernel, contender("eager", 2 * us)]
    cases = [{"name": "default", "keywords": {}, "shapes": list(shapes), "speedups": {"eager": ratio},
              "speedup": {"against": "eager", **ratio}, "contenders": contenders}]
    ceilings = {"copy": 4.2e12, "read": 4.3e12, "write": 4.6e12, "flops": None, "flops_of": None, "launch_us": 0.8,
                "l2_bytes": 6e7}
    return {"tool": "benchmark_kernel", "environment": {"gpu": {"name": gpu}}, "cases": cases, "ceilings": [ceilings],
            "kernel": {"file": "k.py", "sha256": sha256}, "geometric_mean_speedup": 2.0, "charges": list(charges),
            "remarks": []}


def test_report_gives_the_number_its_interval_and_its_method():
    report = benchmark_report.of_run(document())
    text = plain(report)
    assert report.exit_code is ExitCode.PASS
    assert "contender=kernel us=20.00" in text
    assert "speedup=2.000 low=1.990 high=2.010" in text
    assert "method=cupti" in text
    assert text.splitlines()[-1].startswith("VERDICT verdict=TIMED")


def test_the_next_step_names_the_file_and_the_case():
    slow = document()
    slow["kernel"]["file"] = "my kernel.py"
    slow["cases"][0]["contenders"][0]["roofline"]["percent"] = 50.0
    (step,) = benchmark_report.of_run(slow).next_steps
    assert "scripts/profile_kernel.py 'my kernel.py' --case default " in step


def test_a_charge_leaves_no_number():
    report = benchmark_report.of_run(document(charges=[{"code": 7, "sentence": "kernel: it replays"}]))
    assert report.exit_code is ExitCode.CHEATING
    assert report.findings == ["kernel: it replays"]
    assert "us=" not in plain(report)


@pytest.mark.parametrize(("new_us", "expected"), [
    (20.0, Difference.SAME), (20.8, Difference.SLOWER), (19.0, Difference.FASTER)])
def test_two_runs_are_told_apart(new_us, expected):
    found = run_comparison.compare(document(), document(us=new_us))
    assert [case.difference for case in found.cases] == [expected]


def test_a_card_that_drifted_cannot_tell():
    new = document(us=20.8)
    new["ceilings"][0]["copy"] *= 0.9
    assert run_comparison.compare(document(), new).cases[0].difference is Difference.CANNOT_TELL


@pytest.mark.parametrize(("change", "what", "sentence"), [
    ({"gpu": "NVIDIA B200"}, "gpu", "different devices"),
    ({"sha256": "cd"}, "kernel", "the kernel file changed"),
    ({"shapes": ("float32[9]",)}, "inputs", "has other inputs"),
    ({"method": "cuda-events"}, "method", r"different clocks \(cupti; cuda-events\)"),
    ({"device": "cpu"}, "gpu", "different devices"),
])
def test_runs_that_differ_are_compared_only_on_request(change, what, sentence):
    with pytest.raises(UsageError, match=sentence):
        run_comparison.compare(document(), document(**change))
    assert run_comparison.compare(document(), document(**change), frozenset({what})).cases


def test_a_regression_fails_only_when_asked():
    found = run_comparison.compare(document(), document(us=22.0))
    assert benchmark_report.of_comparison(found, document(), None).exit_code is ExitCode.PASS
    assert benchmark_report.of_comparison(found, document(), 20.0).exit_code is ExitCode.PASS
    failed = benchmark_report.of_comparison(found, document(), 5.0)
    assert failed.exit_code is ExitCode.WRONG_RESULT
    assert "10.0 % slower" in failed.findings[0]


def test_only_results_of_the_benchmark_are_read(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"tool": "verify_kernel"}))
    with pytest.raises(UsageError, match="not a result of benchmark_kernel"):
        run_comparison.load(path)
    path.write_text("{")
    with pytest.raises(UsageError, match="not a JSON file"):
        run_comparison.load(path)
    path.write_text(json.dumps(document()))
    assert run_comparison.load(path) == document()


def damage(document, path, value):
    """The document with the value at a path of keys replaced, or taken away where it is DELETED."""
    *folders, last = path
    inner = document
    for key in folders:
        inner = inner[key]
    if value is DELETED:
        del inner[last]
    else:
        inner[last] = value
    return document


DELETED = "deleted"
KERNEL = ("cases", 0, "contenders", 0)


@pytest.mark.parametrize(("path", "value"), [
    (("cases",), None), (("kernel",), DELETED), (("environment",), None), (("charges",), DELETED),
    ((*KERNEL, "rounds_us"), [0.0] * 8), ((*KERNEL, "rounds_us"), [float("nan")] * 8), ((*KERNEL, "median_us"), None),
    ((*KERNEL, "method"), DELETED), (("ceilings",), [{}]), (("cases", 0, "shapes"), DELETED)], ids=str)
def test_a_damaged_result_is_a_mistake_of_usage(tmp_path, path, value):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(damage(document(), path, value)))

    with pytest.raises(UsageError, match="not a result of benchmark_kernel"):
        run_comparison.load(file)


def test_a_refused_old_run_has_nothing_to_compare_with():
    with pytest.raises(UsageError, match="the old run was refused and has no times: kernel: it replays"):
        run_comparison.compare(document(charges=[{"code": 7, "sentence": "kernel: it replays"}]), document())


def test_matrix_products_of_two_dtypes_are_no_drift():
    old, new = document(), document()
    ceiling = old["ceilings"][0]
    of = {"bfloat16": 7e14, "float32": 4e14}
    old["ceilings"] = [ceiling | {"flops": flops, "flops_of": dtype} for dtype, flops in of.items()]
    new["ceilings"] = old["ceilings"][::-1]

    assert run_comparison.compare(old, new).drift == 0


def test_a_limit_below_what_two_sessions_resolve_is_said():
    found = run_comparison.compare(document(), document())
    assert "a slow-down of 0.5 % passes" in " ".join(benchmark_report.of_comparison(found, document(), 0.5).notes)
    assert "passes" not in " ".join(benchmark_report.of_comparison(found, document(), 3).notes)


@pytest.mark.parametrize(("changes", "says"), [
    ({"p10_us": 10.0, "p90_us": 40.0}, "scatter from 10.0 to 40.0 us"),
    ({"device": "cpu", "roofline": {"percent": 130.0, "bytes_per_second": 1.0, "flops_per_second": None,
                                    "limit": "memory"}}, "stay in the CPU's caches")])
def test_a_time_that_means_little_gets_a_note(changes, says):
    assert says not in " ".join(benchmark_report.of_run(document()).notes)
    assert says in " ".join(benchmark_report.of_run(document(**changes)).notes)


def test_comparison_does_not_change_its_documents():
    old, new = document(), document(us=21.0)
    before = copy.deepcopy((old, new))
    run_comparison.compare(old, new)
    assert (old, new) == before


def test_configurations_start_with_the_file_as_it_stands():
    assert tuning.configurations({"tile": [64, 128], "stages": [2]}) == [
        {}, {"tile": 64, "stages": 2}, {"tile": 128, "stages": 2}]
    assert text_of({}) == "as the file stands"


def test_only_some_configurations_are_taken_by_what_is_printed_of_them():
    space = {"tile": [64, 128, 256]}

    assert tuning.configurations(space, ["=64", "256"]) == [{}, {"tile": 64}, {"tile": 256}]
    with pytest.raises(UsageError, match="no configuration has that in its text, such as tile=64"):
        tuning.configurations(space, ["32"])


def test_journal_survives_a_kill_in_the_middle_of_a_line(tmp_path):
    path, identity = tmp_path / "j.jsonl", {"kernel": "ab"}
    journal = Journal(path, identity)
    journal.note("default", {"tile": 64}, verified=True)
    journal.note("default", {"tile": 64}, round_us=20.0)
    journal.note("default", {"tile": 128}, failure="wrong")
    journal.close()
    with open(path, "a") as handle:
        handle.write('{"identity": {"ker')
    resumed = Journal(path, identity)
    assert resumed.of("default", {"tile": 64}).rounds_us == [20.0]
    assert resumed.of("default", {"tile": 64}).verified
    assert resumed.of("default", {"tile": 128}).failure == "wrong"
    assert not resumed.is_finished("default", 30)
    resumed.finish("default", 30)
    resumed.close()
    assert Journal(path, identity).is_finished("default", 30)
    assert not Journal(path, identity).is_finished("default", 60)


def test_journal_of_another_version_of_the_kernel_counts_for_nothing(tmp_path):
    path = tmp_path / "j.jsonl"
    journal = Journal(path, {"kernel": "ab"})
    journal.note("default", {"tile": 64}, round_us=20.0)
    journal.close()
    other = Journal(path, {"kernel": "cd"})
    assert other.of("default", {"tile": 64}).rounds_us == []
    assert other.resumed == 0


@pytest.mark.parametrize(
    "text", ["notes\n", "notes without an end", '{"schema": 1}\n', "[1]\n", "\n", "import torch\nx = 1"]
)
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(text, tmp_path):
    path = tmp_path / "notes"
    path.write_text(text)
    with pytest.raises(UsageError, match="is no journal"):
        Journal(path, {"kernel": "ab"})
    assert path.read_text() == text


def test_a_folder_is_no_journal(tmp_path):
    with pytest.raises(UsageError, match="Is a directory"):
        Journal(tmp_path, {"kernel": "ab"})


def test_winner_and_text_to_paste():
    from kernel_harness.performance.tuning_journal import Progress

    known = [Progress({}, rounds_us=[20.0, 21.0, 20.0]), Progress({"tile": 64}, rounds_us=[15.0, 15.0, 15.0]),
             Progress({"tile": 128}, failure="wrong")]
    case = tuning._case_document("default", known)
    assert (case["winner"], case["us"], case["over_file"]) == ({"tile": 64}, 15.0, pytest.approx(20 / 15))
    assert case["failed"] == [{"config": {"tile": 128}, "failure": "wrong"}]
    assert tuning.snippet([case]) == "TUNED = {\n    'default': {'tile': 64},   # 15.00 us\n}"


def test_the_judge_imports_neither_torch_nor_rich():
    scripts = Path(__file__).resolve().parents[3] / "scripts"
    modules = "benchmark, benchmark_report, tuning, profile_report, run_comparison"
    program = (f"import sys; sys.path.insert(0, {str(scripts)!r}); from kernel_harness.performance import {modules}; "
               "from kernel_harness.compiled import inspection; from kernel_harness.judge import verify_command; "
               "print(sorted({'torch', 'rich', 'numpy'} & set(sys.modules)))")
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert finished.stdout.strip() == "[]", finished.stderr


def test_charts_are_written_with_and_without_operations(tmp_path):
    from kernel_harness.performance import benchmark_plot

    plain_run, counted = document(), document()
    counted["ceilings"][0] |= {"flops": 7e14, "flops_of": "bfloat16"}
    counted["cases"][0]["contenders"][0]["flops"] = 1e9
    for name, run in (("bytes.svg", plain_run), ("operations.png", counted)):
        benchmark_plot.write(run, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
