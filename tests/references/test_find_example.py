"""find_example.py knows NVIDIA's examples, where they moved, and what each teaches."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from kernel_harness.api import own_examples

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "find_example.py"
INDEX = yaml.safe_load((ROOT / "scripts/kernel_harness/api/nvidia_examples.yaml").read_text(encoding="utf-8"))

pytestmark = pytest.mark.cpu


def _find(*arguments: str) -> tuple[int, dict]:
    command = [sys.executable, SCRIPT, *arguments, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, json.loads(done.stdout)


def test_filters_by_operation_and_arch():
    """A Hopper GEMM is found; what runs on every GPU is offered after it."""
    code, answer = _find("--op", "gemm", "--arch", "sm_90a")

    assert code == 0
    assert answer["examples"][0]["path"].startswith("cute/hopper/")
    assert not [example for example in answer["examples"] if example["archs"] == ["sm_100a"]]


@pytest.mark.parametrize("arguments", [("topk",), ("--op", "topk")])
def test_the_projects_own_examples_come_first(arguments):
    code, answer = _find(*arguments)

    assert code == 0
    assert answer["own"] == [["examples/topk.py", answer["own"][0][1]]]
    assert answer["own"][0][1].startswith("Top-k of each row")


def test_a_page_is_found_by_its_name():
    code, answer = _find("conv1d")

    assert code == 0
    assert answer["own"] == [["references/conv1d.md", answer["own"][0][1]]]


@pytest.mark.parametrize(("words", "path"), [
    ("packed conv1d", "references/conv1d.md"),   # a heading below the first
    ("conv1d packed", "references/conv1d.md"),
])  # fmt: skip
def test_a_phrase_is_its_words(words, path):
    code, answer = _find(words)

    assert code == 0
    assert [name for name, _ in answer["own"]] == [path]


@pytest.mark.parametrize("words", ["moe router", "moe top-k", "experts"])
def test_a_router_is_found_by_what_it_does(words):
    assert "examples/moe_router.py" in [name for name, _ in _find(words)[1]["own"]]


def test_each_of_several_words_must_be_there():
    code, answer = _find("int8", "decode")

    assert code == 0
    assert [example["path"].rpartition("/")[2] for example in answer["examples"]] == ["mixed_input_fmha_decode.py"]


@pytest.mark.parametrize("old", ["ampere/elementwise_add.py", "hopper/fmha.py", "blackwell/mla.py",
                                 "blackwell/epilogue/custom_epilogue_dense_gemm.py", "ampere/smem_allocator.py"])
def test_finds_where_an_old_path_went(old):
    """Paths of v4.0 to v4.5 lead to the file's present place."""
    code, answer = _find(old)

    assert code == 0
    assert [example["path"] for example in answer["examples"]] != []


@pytest.mark.parametrize(("arguments", "says"), [
    (("--op", "gem"), "filed under aot, attention"),
    (("--op", "instancenorm3d"), "try --op norm; examples are filed under"),
    (("--arch", "sm_95"), "there are examples for sm_80"),
    (("--learning-path", "Z"), "one of A, B, C, H"),
    ((), "a WORD, --op or --arch"),
    (("--learning-path", "A", "--op", "gemm"), "go alone"),
    (("--check", "n" * 300), "cannot be read"),
])  # fmt: skip
def test_bad_input_gets_a_sentence(arguments, says):
    """What the index cannot know is a usage error that lists what it knows."""
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert says in done.stderr


def test_an_arch_may_be_written_in_short():
    """sm90, GEMM and sm_90a, gemm are the same question."""
    assert _find("--op", "GEMM", "--arch", "sm90a") == _find("--op", "gemm", "--arch", "sm_90a")


def test_nothing_found_is_said():
    """No match is exit code 1, not an empty success, and says where else to look."""
    code, answer = _find("no-such-kernel")

    assert code == 1
    assert "references/recipes.md" in answer["notes"][0]


def test_what_a_line_of_the_index_does_not_name_is_there_in_another():
    assert "blackwell/kernel/attention/fmha/fmha.py" in str(_find("varlen")[1]["examples"])


def test_learning_paths_use_indexed_examples():
    """Each step is in the index and asks something."""
    paths = {example["path"] for example in INDEX["examples"]}
    steps = [step for path in INDEX["learning_paths"].values() for step in path["steps"]]

    assert [step["path"] for step in steps if step["path"] not in paths] == []
    assert [step for step in steps if not step["question"].endswith("?")] == []


def test_check_reports_what_a_checkout_lacks(tmp_path):
    """A checkout with one unknown example differs in both directions."""
    folder = tmp_path / "examples" / "python" / "CuTeDSL" / "cute" / "new"
    folder.mkdir(parents=True)
    (folder / "kernel.py").write_text("")

    code, answer = _find("--check", str(tmp_path))

    assert code == 1
    assert ["cute/new/kernel.py", "in the checkout, not in the index"] in answer["differences"]
    assert len(answer["differences"]) == len(INDEX["examples"]) + 1


def test_an_example_that_is_being_edited_stops_no_search(tmp_path, monkeypatch):
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "softmax.py").write_text('"""A softmax."""\ndef kernel_fn(:\n')
    (tmp_path / "examples" / "norm.py").write_text('"""A softmax-like norm."""\n')
    monkeypatch.setattr(own_examples, "ROOT", tmp_path)

    assert own_examples.find(["softmax"]) == [("examples/norm.py", "A softmax-like norm."), ("examples/softmax.py", "")]
